"""The results page, an HTML file that compares models on one dataset."""
