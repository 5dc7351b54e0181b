"""What happened: event types, their codec, and the log that keeps them."""
