"""The protocol of models that users provide, and an adapter for PyTorch, which is imported when a model is loaded."""
