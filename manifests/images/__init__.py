"""Stored images: reader and writer of a format side by side."""
