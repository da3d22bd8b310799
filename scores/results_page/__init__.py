"""The results page, which compares models on one dataset."""
