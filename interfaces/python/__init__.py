"""The Python interface: Memory and AsyncMemory."""
