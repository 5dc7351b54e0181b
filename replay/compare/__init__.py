"""Recorded traffic under two formulas."""
