"""Samples and images of a data set, as they are read back."""
