"""Sheets: pictures with names under them, as PNG with the same bytes on every machine."""
