"""Test canonical JSON with the examples of RFC 8785, and digests of pixels."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from blake3 import blake3

from corruptset.canonical import canonical, canonical_sha256
from corruptset.pixels import pixel_digest, pixel_hashes

DOUBLES = {
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
}
"""Of appendix B: bits -> text."""


def test_canonical_json_follows_rfc_8785():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    assert canonical(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    for bits, text in DOUBLES.items():
        assert canonical(struct.unpack(">d", bytes.fromhex(bits))[0]) == text.encode()
    # U+1F600 consists of two UTF-16 units that sort before U+FB33, although its code point is larger.
    assert list(json.loads(canonical({"\ufb33": 1, "\U0001f600": 2, "1": 4}))) == ["1", "\U0001f600", "\ufb33"]
    assert canonical([1, 1.0]) == b"[1,1]"
    assert canonical_sha256([]) == "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


@pytest.mark.parametrize("value", [math.nan, 2**53, {1: 2}, "\ud800"])
def test_canonical_json_rejects_unsupported_values(value):
    with pytest.raises((ValueError, TypeError)):
        canonical(value)


def test_pixel_digest_covers_shape_and_bytes():
    rng = np.random.Generator(np.random.Philox(3))
    # These sizes are before, at and after the ends of blake3's chunks of 1024 bytes.
    for shape in [(8, 8, 1), (28, 28, 3), (1, 1015, 1), (1, 1016, 1), (1, 1017, 1), (2, 1020, 1), (71, 71, 3)]:
        images = rng.integers(0, 256, (3, *shape), dtype=np.uint8)
        head = "{},{},{}\n".format(*shape).encode()
        expected = [blake3(head + image.tobytes()).hexdigest() for image in images]
        assert pixel_hashes(images) == expected, shape
        assert pixel_digest(images[1]) == f"blake3:{expected[1]}", shape
