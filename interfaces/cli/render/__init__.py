"""Results for people, as tables and trees on a terminal."""
