"""Models that a user brings, read from a file and checked.

They are asked for outputs and gradients. PyTorch is imported when one is.
"""
