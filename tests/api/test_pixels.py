"""The digest of pixels is BLAKE3 of the shape and the bytes, at every length."""

import numpy as np
import pytest
from blake3 import blake3

from corruptset.pixels import pixel_digest, pixel_hashes

# One chunk of BLAKE3 is 1024 bytes, with "H,W,C\n" before the pixels: what ends just before, at and after chunks and
# blocks, and trees of two to fifteen chunks.
SHAPES = [
    (8, 8, 1), (9, 7, 1), (28, 28, 1), (28, 28, 3), (32, 32, 3), (16, 20, 3), (1, 1015, 1), (1, 1016, 1), (1, 1017, 1),
    (2, 1020, 1),
    (1, 57, 1), (1, 58, 1), (1, 59, 1), (1, 2040, 1), (1, 4088, 1), (1, 4089, 1), (63, 65, 3), (64, 64, 3), (71, 71,
    3), (74, 74, 3),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_length(shape: tuple[int, int, int]) -> None:
    rng = np.random.Generator(np.random.Philox(3))
    for count in (0, 1, 15, 16, 17, 40):
        images = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
        head = "{},{},{}\n".format(*shape).encode()
        expected = [blake3(head + image.tobytes()).hexdigest() for image in images]
        assert pixel_hashes(images) == expected
        assert [pixel_digest(image) for image in images] == [f"blake3:{digest}" for digest in expected]
