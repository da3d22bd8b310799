"""Read predictions files, which any framework can write."""

from .reading import read_predictions as read_predictions
