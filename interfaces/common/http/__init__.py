"""What every HTTP server stands behind: authentication, limits of size and rate, watched connections."""
