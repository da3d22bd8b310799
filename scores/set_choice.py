"""Which sets of a data set are meant: ids, aliases, and patterns of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..manifests.reader import DataSet
from ..manifests.set_choice import matching_sets
from .outcomes import CLEAN


def choose(data: DataSet, globs: Sequence[str] | None) -> list[str]:
    """Return the sets that patterns of ids and aliases fit; all without patterns.

    Raises
    ------
    UnknownSet
        A pattern fits no set.
    """
    if globs is None:
        return data.set_ids
    names = {name: [name] for name in data.set_ids}
    for alias, name in data.aliases.items():
        names[name].append(alias)
    return matching_sets(names, globs, data.path)


def choose_predicted(data: DataSet, globs: Sequence[str] | None) -> list[str]:
    """Return the sets that patterns fit; ``clean`` need not be in the data set."""
    globs = [globs] if isinstance(globs, str) else globs
    if globs is None or CLEAN in data or CLEAN not in globs:
        return choose(data, globs)
    others = [glob for glob in globs if glob != CLEAN]
    return [CLEAN, *(choose(data, others) if others else [])]
