"""Preprocessing, encoding and metrics of images, and the contact sheet of a build."""
