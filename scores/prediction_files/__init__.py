"""Files of predictions, which any framework writes, and what they come down to."""

from .reading import read_predictions as read_predictions
