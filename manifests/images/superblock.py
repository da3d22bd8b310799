"""The checksum of an HDF5 file's first block.

HDF5 1.14 (h5py before 3.16) takes the mark "open for writing" out of the image of a file in memory and leaves the checksum as it was:
the bytes are right, and no reader opens them. HDF5 2.0 writes the checksum anew, so with this both give the same file.
"""

from __future__ import annotations

import struct

_LENGTH = 44
_WORD = 0xFFFFFFFF


def sealed(image: bytes) -> bytes:
    """Return an HDF5 file whose superblock (version 2 or 3, 8-byte offsets) has the checksum of what stands in it."""
    if image[:8] != b"\x89HDF\r\n\x1a\n" or image[8] not in (2, 3) or image[9] != 8:
        return image
    return image[:_LENGTH] + struct.pack("<I", _lookup3(image[:_LENGTH])) + image[_LENGTH + 4 :]


def _lookup3(data: bytes) -> int:
    """Return Bob Jenkins' hash of 44 bytes, which HDF5 has for a checksum."""
    words: tuple[int, ...] = struct.unpack("<11I", data)
    a = b = c = (0xDEADBEEF + len(data)) & _WORD
    for i in (0, 3, 6):
        a, b, c = a + words[i] & _WORD, b + words[i + 1] & _WORD, c + words[i + 2] & _WORD
        for bits in (4, 6, 8, 16, 19, 4):
            a, b, c = b, c + b & _WORD, (a - c & _WORD) ^ _turned(c, bits)
    a, b = a + words[9] & _WORD, b + words[10] & _WORD
    for bits in (14, 11, 25, 16, 4, 14, 24):
        a, b, c = b, (c ^ b) - _turned(b, bits) & _WORD, a
    return b


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _WORD
