"""Audits of corrupted datasets: the contents of each set, compared with the promise of its name."""
