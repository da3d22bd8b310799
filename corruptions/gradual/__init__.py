"""Gradual degradations: thirty levels, each a step further than the one before."""
