"""Full-text search with BM25 over the rows alive at any seq."""
