"""Choose sets by patterns that match their ids and aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ..arguments import set_patterns
from ..errors import UnknownSet, first_few, suggest


def match_set_names(names: Mapping[str, Sequence[str]], globs: Sequence[str], where: Path | str) -> list[str]:
    """Return the ids of the sets that match one or more patterns, in the order of the sets.

    Raises
    ------
    UnknownSet
        A pattern matches no set.
    ParameterError
        The list of patterns is empty.

    Examples
    --------
    >>> names = {"clean": ["clean", "type 0"], "fog/1": ["fog/1"], "fog/2": ["fog/2"]}
    >>> match_set_names(names, ["fog/*", "type 0"], "data")
    ['clean', 'fog/1', 'fog/2']
    """
    globs, every = set_patterns(globs), {name for group in names.values() for name in group}
    if unfit := [glob for glob in globs if not any(fnmatchcase(name, glob) for name in every)]:
        sets = f" It has {first_few(list(names))}."
        raise UnknownSet(
            "; ".join(f"{glob!r} matches no set of {where}.{suggest(glob, every) or sets}" for glob in unfit)
        )
    return [id for id, group in names.items() if any(fnmatchcase(name, glob) for name in group for glob in globs)]
