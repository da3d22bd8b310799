"""Stage keys and sample keys: randomness keyed by what the image is."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..canonical import canonical
from ..errors import ParameterError
from ..pixels import pixel_hashes

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
RNG_VERSION = 1
MAX_SEED = 2**53 - 1


class Keys(NamedTuple):
    """What the random draws of one stage on one batch are keyed by."""

    stage: np.uint64
    samples: NDArray[np.uint64]

    def uniforms(self, *shape: int, stream: int = 0, low: float = 0.0, high: float = 1.0) -> Floats:
        """Return numbers on [low, high), (N, *shape): each image has its own, whatever the batch.

        Another `stream`, 0 .. 2**32 - 1, has other numbers.
        """
        from .random.philox import uniform_rows

        drawn: Floats = uniform_rows(*self, np.int64(stream), float(low), float(high), math.prod(shape))
        return drawn.reshape(len(self.samples), *shape)

    def whole_numbers(self, *counts: int, stream: int | np.uint32 = 0) -> Wholes:
        """Return whole numbers, (N, K), column k uniform on 0 .. counts[k] - 1.

        It comes from word k of the stream.
        """
        from .random.philox import whole_numbers

        drawn: Wholes = whole_numbers(*self, np.int64(stream), np.array(counts))
        return drawn

    def normals(self, *shape: int, stream: int = 0) -> NDArray[np.float32]:
        """Return standard normals, (N, *shape), as `uniforms` does.

        Take either these or those from one stream.
        """
        from .random.normal import fill_normals, normal_table

        out = np.empty((len(self.samples), *shape), np.float32)
        for row, sample in zip(out.reshape(len(out), -1), self.samples, strict=True):
            fill_normals(row, self.stage, sample, np.int64(stream), normal_table())
        return out


def hash64(value: Any) -> np.uint64:
    """Return blake2b (8 bytes, little-endian) of the canonical JSON of a value."""
    return np.uint64(_hash64(canonical(value)))


def _hash64(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def sample_key(sample_id: str) -> np.uint64:
    """Return the key of a sample: the hash of its id.

    Examples
    --------
    >>> hex(sample_key("0"))
    '0xc14dcbdf3e3db02'
    """
    # canonical JSON writes a string as json does, whose function for it takes a tenth of the time
    try:
        return np.uint64(_hash64(encode_basestring(sample_id).encode()))
    except UnicodeEncodeError:
        raise ParameterError(f"key is {sample_id!r}, which UTF-8 cannot write; expected another text.") from None


def sample_keys(sample_ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return the keys of several samples."""
    return np.array([sample_key(i) for i in sample_ids], np.uint64)


def pixel_keys(images: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the keys of images (N, H, W, C) that have no name.

    They are those of the ids ``blake3:<hash of the pixels>``.
    """
    return sample_keys([f"blake3:{digest}" for digest in pixel_hashes(images)])


def check_seed(seed: Any) -> int:
    """Return `seed` as an int, or raise `ParameterError` unless it is 0..2**53 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= int(seed) <= MAX_SEED:
        raise ParameterError(f"seed is {seed!r}; expected a whole number from 0 to {MAX_SEED} (2**53 - 1).")
    return int(seed)


STREAMS_A_LEVEL = 16


def level_stream(level: int, draw: int) -> np.uint32:
    """Return the stream of a gradual degradation's draw (0..15) at one level."""
    return np.uint32(STREAMS_A_LEVEL * level + draw)


def stage_key(seed: int, chain: Sequence[tuple[str, Mapping[str, Any]]]) -> np.uint64:
    """Return the key of the last stage of a chain.

    The chain is (``name@revision``, parameters) of every stage up to and including this one, with the parameters that
    are part of the key: the table's columns at their values before scaling, and options that shape draws where they
    differ from their default.
    """
    return hash64([RNG_VERSION, seed, [[name, dict(parameters)] for name, parameters in chain]])
