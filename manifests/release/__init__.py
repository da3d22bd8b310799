"""A data set as archives, and back."""
