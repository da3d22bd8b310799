"""Which sets of a data set are meant: ids, aliases, and patterns of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..manifests.reader import DataSet
from ..manifests.set_choice import matching_sets


def choose(data: DataSet, globs: Sequence[str] | None) -> list[str]:
    """Return the ids of the sets that patterns of ids and aliases fit, sorted; all without patterns.

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
