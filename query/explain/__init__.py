"""Why a memory stands where it does: read off the score sheet of the ranking itself."""
