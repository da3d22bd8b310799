"""Models that a user brings: the protocol that they follow, and an adapter for PyTorch.

PyTorch is imported when a model is loaded.
"""
