"""Retrievers for other people's frameworks; each needs its own extra."""
