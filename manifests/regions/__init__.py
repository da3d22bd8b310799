"""Regions of images: where they lie, and how their pixels are made."""
