"""Recollect: an event-sourced memory engine for AI agents."""

__version__ = "0.1.0"
