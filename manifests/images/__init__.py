"""Readers and writers of stored images."""
