"""The blur family."""
