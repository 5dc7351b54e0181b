"""Folders of notes kept equal to the store: what `recollect watch` does."""
