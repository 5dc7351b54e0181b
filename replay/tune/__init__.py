"""Choosing a formula's numbers from recorded questions and what followed them."""
