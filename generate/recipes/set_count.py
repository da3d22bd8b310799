"""The number of sets that a recipe's entries name, counted before the sets are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ...corruptions.registry import is_corruption
from ...corruptions.stages import Stage
from .file_models import PairEntry, SetEntry

MAX_SETS = 20_000
"""The largest number of sets of a recipe. The largest shipped recipe has 451 sets, and 20,000 sets of CIFAR-10's test
images take 600 GB.
"""
Links = Mapping[str, tuple[Stage, ...]]
"""One side of a pair: the name of each stage in the ids of sets, and the stage, or nothing at severity 0."""


def too_many(count: int) -> str:
    """Return the mistake of a recipe with too many sets."""
    return (
        f"it has {count:,} sets, and a recipe has at most {MAX_SETS:,}. Name fewer corruptions or severities, or "
        "divide the sets among several recipes"
    )


def count_listed(sets: Sequence[SetEntry], pairs: Sequence[PairEntry], own: Collection[str]) -> tuple[int, int]:
    """Return how many stages the entries list, and how many sets they make if all names in a list are different.

    `own` are the names of the recipe's own stages.
    """
    listed = made = 0
    for entry in sets:
        size = 1 if entry.corruptions is None else len(entry.corruptions) * len(entry.levels or entry.severities)
        listed, made = listed + size, made + size
    for pair in pairs:
        first, second = (_side_length(pair, side, own) for side in ("first", "second"))
        listed, made = listed + first + second, made + first * second * (2 if pair.orders == "both" else 1)
    return listed, made


def _side_length(pair: PairEntry, side: str, own: Collection[str]) -> int:
    severities = getattr(pair, f"{side}_severities") or pair.severities
    levels = getattr(pair, f"{side}_levels") or pair.levels or ()
    several = max(len(severities), len(levels))
    return sum(several if item not in own and is_corruption(item) else 1 for item in getattr(pair, side))


def count_pairs(pair: PairEntry, first: Links, second: Links) -> int:
    """Return how many sets a ``[[pairs]]`` makes of its two sides."""
    count = _combinations(pair, first, second)
    if pair.orders == "both":  # the sets of stages that are on both sides have the same names in both orders
        common = {name: link for name, link in first.items() if name in second}
        count = 2 * count - _combinations(pair, common, common)
    return count


def _combinations(pair: PairEntry, first: Links, second: Links) -> int:
    count = len(first) * len(second)
    if not pair.same:
        before, after = (
            Counter(stage.corruption for link in side.values() for stage in link) for side in (first, second)
        )
        count -= sum(number * after[name] for name, number in before.items())
    return count
