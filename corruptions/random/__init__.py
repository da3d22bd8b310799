"""Random words, whole numbers, and uniform and normal numbers.

They are pure functions of (stage key, sample key, stream, element).
"""
