"""A small seeded mutator: the same (target, seed, number) gives the same bytes on every machine."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

NUMBERS = (
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
)
"""What length fields are most often wrong by."""
WORDS = (
    b"0", b"-1", b"1e999", b"nan", b"-inf", b"true", b"null", b'""', b'"../../x"', b'"/etc/passwd"', b"[]", b"{}",
    b"99999999999999999999",
    b"1e400", b"2024-02-30", b"1979-05-27T07:32:00", b"'\\u0000'", b'"\\ud800"', b"0x7fffffffffffffff", b"[[[[[[[[",
    b"{{{{", b"\x00",
    b"\xff\xfe", b"\r\n", b"#", b'"a":', b"a.b.c = 1\n", b"[[sets]]\n", b"9" * 5000, b"[" * 3000, b'{"a":' * 3000,
)  # fmt: skip
"""What text formats are most often wrong by: numbers out of range, other types, deep nesting, paths that lead out."""


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
    edits: list[Callable[[bytearray, random.Random], None]] = [
        _flip,
        _flip,
        _set,
        _length,
        _length,
        _cut,
        _insert,
        _remove,
        _repeat,
    ]
    edits += [_word, _word, _digit] if text else []
    while True:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
            if others and rng.random() < 0.08:
                _splice(changed, rng, rng.choice(others))
            else:
                rng.choice(edits)(changed, rng)
        if bytes(changed) != data:
            return bytes(changed)


def _place(data: bytearray, rng: random.Random) -> int:
    """Return a position: half of the time near the beginning, where heads are."""
    if not data:
        return 0
    return rng.randrange(min(len(data), 256)) if rng.random() < 0.5 else rng.randrange(len(data))


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _set(data: bytearray, rng: random.Random) -> None:
    if data:
        data[_place(data, rng)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _length(data: bytearray, rng: random.Random) -> None:
    code = rng.choice((">H", "<H", ">I", "<I", "<Q", ">Q"))
    size = struct.calcsize(code)
    if len(data) > size:
        at = min(_place(data, rng), len(data) - size)
        data[at : at + size] = struct.pack(code, rng.choice(NUMBERS) % (1 << 8 * size))


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _insert(data: bytearray, rng: random.Random) -> None:
    at = _place(data, rng)
    data[at:at] = rng.randbytes(rng.choice((1, 2, 4, 64, 512)))


def _remove(data: bytearray, rng: random.Random) -> None:
    at = _place(data, rng)
    del data[at : at + rng.choice((1, 2, 4, 64, 512))]


def _repeat(data: bytearray, rng: random.Random) -> None:
    at = _place(data, rng)
    stretch = data[at : at + rng.choice((1, 4, 16, 64, 512))]
    data[at:at] = stretch * rng.choice((1, 2, 10))


def _splice(data: bytearray, rng: random.Random, other: bytes) -> None:
    data[_place(data, rng) :] = other[rng.randrange(len(other) + 1) :]


def _word(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    if rng.random() < 0.7:
        # In place of a value: what stands between the next separators.
        begin = max(data.rfind(c, 0, at) for c in (b" ", b":", b"=", b"[", b","))
        ends = [e for c in (b",", b"\n", b"]", b"}") if (e := data.find(c, at)) >= 0]
        data[begin + 1 : min(ends, default=at)] = rng.choice(WORDS)
    else:
        data[at:at] = rng.choice(WORDS)


def _digit(data: bytearray, rng: random.Random) -> None:
    digits = [i for i, c in enumerate(data) if 48 <= c < 58]
    if digits:
        data[rng.choice(digits)] = 48 + rng.randrange(10)
