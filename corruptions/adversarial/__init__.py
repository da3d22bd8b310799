"""Corruptions that use a model's gradient."""
