"""A second future: a log prefix lived again under other rules."""
