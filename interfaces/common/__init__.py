"""What several interfaces share."""
