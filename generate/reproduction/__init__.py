"""Regenerate pixels from a manifest: single samples, damaged files, whole datasets, and virtual datasets."""
