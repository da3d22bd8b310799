"""JSON Schemas (2020-12) of the records of a dataset."""
