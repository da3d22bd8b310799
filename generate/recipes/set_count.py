"""Count the sets of a recipe before they are created, so that too many sets cause an error instead of a long wait."""

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
"""One side of a pair: a mapping from the names of stages, as used in set ids, to tuples that contain the stage. At
severity 0, the tuple is empty.
"""


def too_many_sets(count: int) -> str:
    """Return the message about a recipe that has too many sets."""
    return (
        f"it has {count:,} sets, but a recipe has at most {MAX_SETS:,}. Name fewer corruptions or severities, or "
        "divide the sets among several recipes"
    )


def count_listed(sets: Sequence[SetEntry], pairs: Sequence[PairEntry], stage_names: Collection[str]) -> tuple[int, int]:
    """Count the stages in the lists of a recipe, and the sets that it has if no list contains duplicates.

    `stage_names` are the names of the stages in the recipe's ``[stages]``.
    """
    listed = count = 0
    for entry in sets:
        size = 1 if entry.corruptions is None else len(entry.corruptions) * len(entry.levels or entry.severities)
        listed, count = listed + size, count + size
    for pair in pairs:
        first, second = (_side_length(pair, side, stage_names) for side in ("first", "second"))
        listed, count = listed + first + second, count + first * second * (2 if pair.orders == "both" else 1)
    return listed, count


def _side_length(pair: PairEntry, side: str, stage_names: Collection[str]) -> int:
    severities = getattr(pair, f"{side}_severities") or pair.severities
    levels = getattr(pair, f"{side}_levels") or pair.levels or ()
    several = max(len(severities), len(levels))
    return sum(several if item not in stage_names and is_corruption(item) else 1 for item in getattr(pair, side))


def count_pairs(pair: PairEntry, first: Links, second: Links) -> int:
    """Return the number of sets that an entry of ``[[pairs]]`` creates. `first` and `second` are its two sides."""
    count = _combinations(pair, first, second)
    if pair.orders == "both":  # stages that are on both sides give the same sets in both orders
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
