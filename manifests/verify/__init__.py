"""Verify a dataset against its manifest."""
