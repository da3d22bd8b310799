"""JSON Schemas (2020-12) of what a build writes."""
