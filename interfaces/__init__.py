"""How people and agents reach a store: Python, the command line, MCP, HTTP, folders and files."""
