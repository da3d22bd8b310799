"""What is drawn for a study: orders that follow from a seed and from what is ordered, the same on every machine, with every numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .answer_choices import AnswerChoices
from .study_records import Trial

T = TypeVar("T")
Pictures = list[tuple[Trial, NDArray[np.uint8]]]
"""What is shown: (H, W, C) images, C 1 or 3, with what they are."""


def hash_of(*words: str) -> bytes:
    """Return 16 bytes that follow from words."""
    return hashlib.blake2b("\0".join(words).encode(), digest_size=16).digest()


@dataclass(frozen=True)
class Draw:
    """What every draw of a study follows from."""

    digest: str
    """Of the data set."""
    seed: int
    choices: AnswerChoices

    def order(self, purpose: str, name: Callable[[Any], str] = str) -> Callable[[Any], bytes]:
        """Return the key of a random order, for `sorted` and `min`: it follows from the seed, the purpose, and the items' names alone.

        Examples
        --------
        >>> draw = Draw("", 0, AnswerChoices((), {}))
        >>> sorted("abcdef", key=draw.order("example")), sorted("fedcba", key=draw.order("example"))
        (['f', 'd', 'b', 'c', 'e', 'a'], ['f', 'd', 'b', 'c', 'e', 'a'])
        """
        return lambda item: hash_of(str(self.seed), purpose, name(item))

    def taken(self, count: int, label_of: Mapping[str, int], make: Callable[[str], Iterable[T]]) -> list[T]:
        """Return so many of what `make` makes of source images, of each category in turn; those without an answer are left out."""
        by_category: dict[str, list[str]] = {}
        for source, label in label_of.items():
            if label in self.choices.of_label:
                by_category.setdefault(self.choices.of_label[label], []).append(source)
        ordered = (sorted(by_category[c], key=self.order("sources")) for c in sorted(by_category, key=self.order("categories")))
        rounds = zip_longest(*(chain.from_iterable(map(make, sources)) for sources in ordered))
        return list(islice((one for one in chain.from_iterable(rounds) if one is not None), count))

    def trial(self, group: str, set_id: str, sample: str, **known: Any) -> Trial:
        """Return a picture's record. From its name in the page nobody reads what it is; fields that are not given are None."""
        name = hash_of(self.digest, str(self.seed), group, set_id, sample).hex()[:16]
        fields: dict[str, Any] = dict.fromkeys(Trial.model_fields)
        return Trial(**fields | known | {"id": name, "group": group, "set": set_id, "sample": sample})
