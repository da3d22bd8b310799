"""Canonical JSON: RFC 8785's own examples, and what the keys and digests rely on."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corruptset.canonical import canonical, canonical_sha256


def test_the_example_of_rfc_8785() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value) == expected.encode()


@pytest.mark.parametrize(
    ("bits", "text"),
    # RFC 8785, appendix B
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("44b52d02c7e14af6", "1e+23"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("41b3de4355555556", "333333333.3333334"),
    ],
)
def test_doubles_of_rfc_8785(bits: str, text: str) -> None:
    assert canonical(struct.unpack(">d", bytes.fromhex(bits))[0]) == text.encode()


def test_keys_are_sorted_by_utf_16() -> None:
    # U+1F600 is two UTF-16 units that sort before U+FB33, though its code point is larger
    assert list(json.loads(canonical({"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "1": 4}))) == [
        "1",
        "\u20ac",
        "\U0001f600",
        "\ufb33",
    ]


def test_one_and_one_point_zero_are_one() -> None:
    assert canonical([1, 1.0, -0.0]) == b"[1,1,0]"


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**53, {1: 2}, "\ud800", b"x"])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_round_trip(value: float) -> None:
    assert float(json.loads(canonical(value))) == value


def test_canonical_sha256_is_of_the_bytes() -> None:
    assert (
        canonical_sha256({"b": [1.5, None], "a": "é"})
        == "sha256:" + hashlib.sha256('{"a":"é","b":[1.5,null]}'.encode()).hexdigest()
    )
