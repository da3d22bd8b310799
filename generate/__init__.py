"""Recipes applied to sources: the plan, the workers, the sinks."""
