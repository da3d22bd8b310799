"""Sheets: pictures with names under them, as PNG."""
