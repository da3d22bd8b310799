"""Audit corrupted datasets: compare the contents of each set with what its name states."""
