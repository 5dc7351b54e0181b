"""What the log means at a position: rows, lexical, vectors, lifecycle, graph."""
