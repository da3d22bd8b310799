"""The digital family."""
