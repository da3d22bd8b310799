"""Regions of a source's images as samples: which are drawn, and a source of them."""
