"""Regions of images as samples: random positions of regions, and a source that provides regions."""
