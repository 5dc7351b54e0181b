"""The past, again: recorded recalls ranked once more and compared bit for bit."""
