"""Audit corrupted datasets: check whether the images in each set are what the name of the set states."""
