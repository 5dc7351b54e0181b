"""The SQL face: DuckDB over the log and its projections."""
