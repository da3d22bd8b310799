"""Compute the scores of the papers from the predictions of models."""
