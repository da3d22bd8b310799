"""Predictions and a data set to the papers' numbers."""
