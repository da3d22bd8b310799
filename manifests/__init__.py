"""Datasets: their records and digests, reading, verifying, packing, publishing and fetching them."""
