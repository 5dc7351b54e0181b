"""A small background process that keeps a model loaded for the command line and for servers."""
