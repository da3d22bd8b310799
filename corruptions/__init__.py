"""Corruptions, which map uint8 images to uint8 images.

This package reads no datasets and writes no manifests.
"""
