"""What is drawn for a study: orders that follow from a seed and from what is ordered, the same on every machine, with every numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .answer_choices import AnswerChoices
from .study_records import Group, Trial

T = TypeVar("T")
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Draw:
    """What every draw of a study follows from."""

    digest: str
    """Of the data set."""
    seed: int
    choices: AnswerChoices

    def sources_of_categories(self, label_of: dict[str, int]) -> list[list[str]]:
        """Return source images by category, in random orders: categories, and the images of each. Those without an answer are left out."""
        by_category: dict[str, list[str]] = {}
        for source, label in label_of.items():
            if label in self.choices.of_label:
                by_category.setdefault(self.choices.of_label[label], []).append(source)
        return [shuffled(by_category[c], self.seed, "sources") for c in shuffled(by_category, self.seed, "categories")]

    def trial(self, group: Group, set_id: str, sample: str, **known: Any) -> Trial:
        """Return a picture's record. From its name in the page nobody reads what it is; fields that are not given are None."""
        name = hash_of(self.digest, str(self.seed), group, set_id, sample).hex()[:16]
        fields: dict[str, Any] = dict.fromkeys(Trial.model_fields)
        return Trial(**fields | known | {"id": name, "group": group, "set": set_id, "sample": sample})


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
