"""Draw random words, whole numbers, and uniform and normal numbers.

All of them are pure functions of (stage key, sample key, stream, element).
"""
