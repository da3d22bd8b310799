"""Regions of images as samples: their random positions, and a source that provides them."""
