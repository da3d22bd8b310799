"""Corruptions that follow the gradient of a model."""
