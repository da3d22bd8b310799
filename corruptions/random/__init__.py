"""Draw random words, whole numbers, and uniform and normal numbers.

Each of these draws is a pure function of (stage key, sample key, stream, element).
"""
