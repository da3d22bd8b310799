"""Which sets of a data set are meant: ids, aliases, and patterns of them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ..errors import UnknownCorruption, suggest
from ..manifests.reader import DataSet


def choose(data: DataSet, globs: Sequence[str] | None) -> list[str]:
    """Return the ids of the sets that patterns of ids and aliases fit, sorted; all without patterns.

    Raises
    ------
    UnknownCorruption
        A pattern fits no set.
    """
    if globs is None:
        return data.set_ids
    names = {name: {name} for name in data.set_ids}
    for alias, name in data.aliases.items():
        names[name].add(alias)
    every = {name for group in names.values() for name in group}
    unfit = [glob for glob in globs if not any(fnmatchcase(name, glob) for name in every)]
    if unfit:
        raise UnknownCorruption(
            "; ".join(f"{glob!r} matches no set of {data.path}.{suggest(glob, every)}" for glob in unfit)
        )
    return [name for name, group in names.items() if any(fnmatchcase(one, glob) for one in group for glob in globs)]
