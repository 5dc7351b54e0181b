"""Nearest vectors at any seq: sealed HNSW shards and an exact tail."""
