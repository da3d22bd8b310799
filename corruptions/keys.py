"""Compute stage keys and sample keys, from which all random numbers are derived."""

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
Int64Array = NDArray[np.int64]
RNG_VERSION = 1
MAX_SEED = 2**53 - 1


class Keys(NamedTuple):
    """The keys for the random draws of one stage on one batch."""

    stage: np.uint64
    samples: NDArray[np.uint64]

    def uniforms(self, *shape: int, stream: int = 0, low: float = 0.0, high: float = 1.0) -> Floats:
        """Return random numbers uniform on [low, high), as an array (N, *shape) of float64.

        The numbers of an image do not depend on the rest of the batch. Each `stream`, a number from 0 to 2**32 - 1,
        gives different numbers.
        """
        from .random.philox import uniform_rows

        drawn: Floats = uniform_rows(*self, np.int64(stream), float(low), float(high), math.prod(shape))
        return drawn.reshape(len(self.samples), *shape)

    def integers(self, *counts: int, stream: int | np.uint32 = 0) -> Int64Array:
        """Return random whole numbers as an array (N, K) of int64, where column k is uniform on 0 .. counts[k] - 1.

        Column k is computed from word k of the stream.
        """
        from .random.philox import draw_integers

        drawn: Int64Array = draw_integers(*self, np.int64(stream), np.array(counts))
        return drawn

    def normals(self, *shape: int, stream: int = 0) -> NDArray[np.float32]:
        """Return random standard normal numbers, as an array (N, *shape) of float32.

        `normals` and `uniforms` use the same random words of a stream, so use each stream for only one of them.
        """
        from .random.normal import fill_normals, normal_table

        out = np.empty((len(self.samples), *shape), np.float32)
        for row, sample in zip(out.reshape(len(out), -1), self.samples, strict=True):
            fill_normals(row, self.stage, sample, np.int64(stream), normal_table())
        return out


def hash64(value: Any) -> np.uint64:
    """Return the 8-byte blake2b hash of a value's canonical JSON as a little-endian integer."""
    return np.uint64(_hash64(canonical(value)))


def _hash64(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def sample_key(sample_id: str) -> np.uint64:
    """Return the key of a sample, which is the hash of its id.

    Examples
    --------
    >>> hex(sample_key("0"))
    '0xc14dcbdf3e3db02'
    """
    # For a string, this function of the json module returns the canonical JSON in a tenth of the time.
    try:
        return np.uint64(_hash64(encode_basestring(sample_id).encode()))
    except UnicodeEncodeError:
        raise ParameterError(f"key is {sample_id!r}, which cannot be encoded as UTF-8. Use another key.") from None


def sample_keys(sample_ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return the keys of several samples."""
    return np.array([sample_key(i) for i in sample_ids], np.uint64)


def pixel_keys(images: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the keys of images (N, H, W, C) that have no ids.

    The keys are computed from the ids ``blake3:<hash of the pixels>``.
    """
    return sample_keys([f"blake3:{digest}" for digest in pixel_hashes(images)])


def check_seed(seed: Any) -> int:
    """Return `seed` as an int, or raise `ParameterError` if it is not a whole number from 0 to 2**53 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= int(seed) <= MAX_SEED:
        raise ParameterError(f"seed is {seed!r}; expected a whole number from 0 to {MAX_SEED} (2**53 - 1).")
    return int(seed)


STREAMS_PER_LEVEL = 16


def level_stream(level: int, draw: int) -> np.uint32:
    """Return the stream for a draw (0 to 15) of a gradual degradation at one level."""
    return np.uint32(STREAMS_PER_LEVEL * level + draw)


def stage_key(seed: int, chain: Sequence[tuple[str, Mapping[str, Any]]]) -> np.uint64:
    """Return the key of the last stage of a chain.

    The chain contains (``name@revision``, parameters) for each stage up to this one. Only two kinds of parameters are
    part of the key. The first are the parameters that severity tables contain, with their values before scaling. The
    second are options that affect draws and differ from their default.
    """
    return hash64([RNG_VERSION, seed, [[name, dict(parameters)] for name, parameters in chain]])
