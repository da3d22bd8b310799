"""Random words, whole numbers, uniforms and normals.

They are pure functions of (stage key, sample key, stream, element).
"""
