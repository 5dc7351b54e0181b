"""What changed between two moments, and which event did it."""
