"""A small mutator of files. Equal (target, seed, number) give equal bytes on every machine."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

NUMBERS = (
    *(0, 1, 2, 7, 8, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    *(1 << 40, (1 << 63) - 1),
)
"""Typical errors of length fields."""
WORDS = (
    *b"""0 -1 1e999 nan -inf true null "" "../../x" "/etc/passwd" [] {} 99999999999999999999 1e400 2024-02-30
    1979-05-27T07:32:00 '\\u0000' "\\ud800" 0x7fffffffffffffff [[[[[[[[ {{{{""".split(),
    *(b"\x00", b"\xff\xfe", b"\r\n", b"#", b'"a":', b"a.b.c = 1\n", b"[[sets]]\n"),
    *(b"9" * 5000, b"[" * 3000, b'{"a":' * 3000),
)
"""Typical errors in text formats: numbers out of range, other types, deep nesting, and paths that lead out of a folder.
"""
KINDS = "flip flip set length length cut insert remove repeat".split()
OF_TEXT = "word word digit".split()


def mutate(data: bytes, rng: random.Random, *, others: Sequence[bytes] = (), text: bool = False) -> bytes:
    """Return other bytes than `data`: one to four edits of random kinds.

    Parameters
    ----------
    data : bytes
        A valid file.
    rng : random.Random
    others : sequence of bytes
        Valid files of the same kind, for splices.
    text : bool
        Whether words of text formats are put in too.
    """
    kinds = KINDS + OF_TEXT * text
    while True:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
            if others and rng.random() < 0.08:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                changed[_place(changed, rng) :] = other[start:]
            else:
                _edit(changed, rng, rng.choice(kinds))
        if bytes(changed) != data:
            return bytes(changed)


def _place(data: bytearray, rng: random.Random) -> int:
    """Return a random position, which is near the beginning in half of the cases, because headers are there."""
    if not data:
        return 0
    return rng.randrange(min(len(data), 256)) if rng.random() < 0.5 else rng.randrange(len(data))


def _edit(data: bytearray, rng: random.Random, kind: str) -> None:
    sizes = (1, 2, 4, 64, 512)
    match kind:
        case "flip" if data:
            data[_place(data, rng)] ^= 1 << rng.randrange(8)
        case "set" if data:
            value = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            data[_place(data, rng)] = value
        case "length":
            code = rng.choice((">H", "<H", ">I", "<I", "<Q", ">Q"))
            size = struct.calcsize(code)
            if len(data) > size:
                offset = min(_place(data, rng), len(data) - size)
                data[offset : offset + size] = struct.pack(code, rng.choice(NUMBERS) % (1 << 8 * size))
        case "cut":
            del data[rng.randrange(len(data) + 1) :]
        case "insert":
            offset = _place(data, rng)
            data[offset:offset] = rng.randbytes(rng.choice(sizes))
        case "remove":
            offset = _place(data, rng)
            del data[offset : offset + rng.choice(sizes)]
        case "repeat":
            offset = _place(data, rng)
            stretch = data[offset : offset + rng.choice((1, 4, 16, 64, 512))]
            data[offset:offset] = stretch * rng.choice((1, 2, 10))
        case "word":
            start = stop = rng.randrange(len(data) + 1)
            if rng.random() < 0.7:  # replaces a value, up to the next separator
                ends = [e for c in (b",", b"\n", b"]", b"}") if (e := data.find(c, stop)) >= 0]
                start, stop = (
                    max(data.rfind(c, 0, start) for c in (b" ", b":", b"=", b"[", b",")) + 1,
                    min(ends or [stop]),
                )
            data[start:stop] = rng.choice(WORDS)
        case "digit":
            if digits := [i for i, c in enumerate(data) if 48 <= c < 58]:
                digit = 48 + rng.randrange(10)
                data[rng.choice(digits)] = digit
