"""What stands in a data set: models, their schema, digests, reports."""
