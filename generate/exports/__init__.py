"""Exports: a finished dataset in the layout that a third-party loader expects."""
