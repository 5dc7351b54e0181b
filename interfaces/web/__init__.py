"""A store over HTTP: the guard every server stands behind, a JSON API and one page."""
