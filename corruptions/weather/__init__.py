"""The weather family."""
