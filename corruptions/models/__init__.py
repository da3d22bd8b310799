"""The protocol for models that users provide, and an adapter that imports PyTorch when a model is loaded."""
