"""Models that a user brings: read from a file, loaded and checked, asked for outputs and gradients. PyTorch is imported
when one is.
"""
