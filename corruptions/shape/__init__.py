"""Corruptions of shape: images moved, drawn over or reduced to lines."""
