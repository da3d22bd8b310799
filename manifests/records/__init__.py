"""The records of a dataset: models, JSON schemas, digests and reports."""
