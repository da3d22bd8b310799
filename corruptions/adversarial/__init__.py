"""Corruptions that are made with a model's gradient."""
