"""Define the records and digests of datasets, and read, verify, pack, publish and fetch datasets."""
