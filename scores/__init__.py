"""Predictions and a manifest to the papers' metrics (to come)."""
