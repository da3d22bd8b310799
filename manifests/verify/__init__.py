"""A data set held against its manifest."""
