"""Random words, whole numbers, uniforms and normals: pure functions of (stage key, sample key, stream, element)."""
