"""Access to the samples and images of a dataset."""
