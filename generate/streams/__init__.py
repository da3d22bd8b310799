"""Changing streams: images in an order in which corruptions come and go, written as tars."""
