"""Typed weighted edges and clusters at any seq."""
