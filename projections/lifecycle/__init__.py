"""What every memory is worth at any seq: strength, depth, use, ratings, traits."""
