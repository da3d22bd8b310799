"""What a model said of a data set, in files that any framework writes, and what it comes down to."""

from .reading import read_predictions

__all__ = ["read_predictions"]
