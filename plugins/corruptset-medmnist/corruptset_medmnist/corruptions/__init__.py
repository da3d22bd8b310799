"""Provide the corruptions of MedMNIST-C.

The tables were published for 224x224 images. The published generator converts grey images to RGB, corrupts them, and
converts the results back to grey. The module `rgb` does the same.
"""

from __future__ import annotations

from . import blur, enhance, marks, noise

__all__ = ["blur", "enhance", "marks", "noise"]
