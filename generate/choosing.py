"""Which sets of a recipe are meant: globs over ids and aliases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ..errors import UnknownCorruption, listed, suggest
from .entries import SetSpec

CLEAN = SetSpec("clean", ())


def choose_sets(sets: Sequence[SetSpec], globs: Sequence[str] | None) -> list[SetSpec]:
    """Return the sets whose id or alias matches one of the patterns, in the recipe's order.

    Parameters
    ----------
    sets : sequence of SetSpec
        The recipe's.
    globs : sequence of str or None
        Shell patterns; None is all. ``clean``, said outright, adds the clean set where the recipe has none.

    Raises
    ------
    UnknownCorruption
        Every pattern without a match.

    Examples
    --------
    >>> [s.id for s in choose_sets([SetSpec("fog/1", ()), SetSpec("fog/2", ()), SetSpec("snow/1", ())], ["fog/*", "clean"])]
    ['clean', 'fog/1', 'fog/2']
    """
    if globs is None:
        return list(sets)
    known = list(sets)
    if "clean" in globs and not any("clean" in (s.id, *s.aliases) for s in sets):
        known.insert(0, replace(CLEAN))
    names = {name for spec in known for name in (spec.id, *spec.aliases)}
    empty = [g for g in globs if not any(fnmatchcase(n, g) for n in names)]
    if empty:
        problems = [f"{g!r} matches no set.{suggest(g, names)}" for g in empty]
        raise UnknownCorruption(f"--sets:\n{listed(problems)}\n`corruptset show RECIPE` lists the sets of a recipe.")
    return [spec for spec in known if any(fnmatchcase(n, g) for n in (spec.id, *spec.aliases) for g in globs)]
