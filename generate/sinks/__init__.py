"""Where images go."""
