"""Publish releases, and fetch them."""
