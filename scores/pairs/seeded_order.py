"""Orders that follow from a seed and from what is ordered: the same on every machine, with every numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def shuffled(items: Iterable[T], seed: int, purpose: str, name: Callable[[T], str] = str) -> list[T]:
    """Return items in a random order that follows from the seed, the purpose, and the items' names alone.

    Examples
    --------
    >>> shuffled("abcdef", 0, "example"), shuffled("fedcba", 0, "example"), shuffled("abcdef", 1, "example")
    (['f', 'd', 'b', 'c', 'e', 'a'], ['f', 'd', 'b', 'c', 'e', 'a'], ['e', 'b', 'a', 'f', 'c', 'd'])
    """
    return sorted(items, key=lambda item: hash_of(str(seed), purpose, name(item)))


def hash_of(*words: str) -> bytes:
    """Return 16 bytes that follow from words."""
    return hashlib.blake2b("\0".join(words).encode(), digest_size=16).digest()


def in_turn(streams: Sequence[Iterator[T]]) -> Iterator[T]:
    """Yield one item of each stream after the other, until all have ended.

    Examples
    --------
    >>> "".join(in_turn([iter("ad"), iter("b"), iter("ce")]))
    'abcde'
    """
    going = list(streams)
    while going:
        for stream in list(going):
            try:
                yield next(stream)
            except StopIteration:
                going.remove(stream)
