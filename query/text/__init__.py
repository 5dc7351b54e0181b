"""What a question is like, by named rules over its words; every rule works on any script."""
