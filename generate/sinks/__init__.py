"""Containers of images and their writer."""
