"""Provide the corruptions of MedMNIST-C.

The tables were published for images of 224x224 pixels. The published generator converts grey images to RGB, corrupts
them, and converts the result back to grey (`rgb`).
"""

from __future__ import annotations

from . import blur, enhance, marks, noise

__all__ = ["blur", "enhance", "marks", "noise"]
