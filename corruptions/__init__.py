"""Corruptions, which map images of uint8 to images of uint8.

This package reads no datasets and writes no manifests.
"""
