"""Select sets of a dataset by ids, aliases and patterns."""

from __future__ import annotations

from collections.abc import Sequence

from ..manifests.reader import Dataset
from ..manifests.set_choice import match_set_names
from .outcomes import CLEAN


def choose_scored_sets(data: Dataset, globs: Sequence[str] | None) -> list[str]:
    """Return the sets whose id or alias matches a pattern. Without patterns, return all sets.

    Raises
    ------
    UnknownSet
        If a pattern matches no set.
    """
    if globs is None:
        return data.set_ids
    names = {name: [name] for name in data.set_ids}
    for alias, name in data.aliases.items():
        names[name].append(alias)
    return match_set_names(names, globs, data.path)


def choose_predicted_sets(data: Dataset, globs: Sequence[str] | None) -> list[str]:
    """Return the sets that match patterns. ``clean`` may be given even if it is not in the dataset."""
    globs = [globs] if isinstance(globs, str) else globs
    if globs is None or CLEAN in data or CLEAN not in globs:
        return choose_scored_sets(data, globs)
    others = [glob for glob in globs if glob != CLEAN]
    return [CLEAN, *(choose_scored_sets(data, others) if others else [])]
