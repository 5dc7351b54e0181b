"""What joins log, projections and ranking: the store, writing, recalling, the past, erasure. No terminal, socket or browser."""
