"""Other programs' files in, and ours out: what `recollect import` and `export` read and write."""
