"""Compute published robustness scores from the predictions of models."""
