"""Which sets of a recipe are meant: globs over ids and aliases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ...corruptions.calibrations import Calibration, ladder
from ...corruptions.registry import get_corruption
from ...corruptions.stages import resolve_stage, set_id
from ...errors import UnknownCorruption, listed, suggest
from .file_models import SetSpec

CLEAN = SetSpec("clean", ())
LEVELS = 30
"""The levels of a gradual degradation, where no recipe says how many: as many as the paper has."""


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


def ladders(table: Calibration) -> list[SetSpec]:
    """Return every gradual degradation at levels 1 to 30, or as many as it has, with the parameters of a calibration's ladder."""
    found = []
    for name in ladder(table.ladder):
        gradual = get_corruption(name).gradual
        for level in range(1, min(LEVELS, gradual.most) + 1) if gradual is not None else ():
            stage = resolve_stage(name, table, level=level)
            found.append(SetSpec(set_id([stage]), (stage,)))
    return found


def choose_shown(sets: Sequence[SetSpec], globs: Sequence[str] | None, table: Calibration) -> list[SetSpec]:
    """Return the sets that one picture is shown under.

    Parameters
    ----------
    sets : sequence of SetSpec
        The recipe's.
    globs : sequence of str or None
        As of `choose_sets`, and a pattern that matches no set of the recipe may match gradual degradations (`ladders`),
        whatever the recipe. None is all; of gradual degradations then levels 1, 5, 10, ... only.
    table : Calibration
        With the ladder of those that are not the recipe's.

    Raises
    ------
    UnknownCorruption
        Every pattern without a match.

    Examples
    --------
    >>> from ..corruptions.calibrations import get_calibration
    >>> found = choose_shown([], ["black_lines/0*", "clean"], get_calibration("imagenet"))
    >>> found[0].id, found[1].id, len(found)
    ('clean', 'black_lines/01', 10)
    >>> [s.id for s in choose_shown([s for s in found if s.stages], None, get_calibration("imagenet"))]
    ['black_lines/01', 'black_lines/05']
    """
    if globs is None:
        return [s for s in sets if len(s.stages) != 1 or s.stages[0].level is None or s.stages[0].level == 1 or s.stages[0].level % 5 == 0]
    own = {name for spec in sets for name in (spec.id, *spec.aliases)}
    beyond = [g for g in globs if g != "clean" and not any(fnmatchcase(name, g) for name in own)]
    rungs = [s for s in ladders(table) if s.id not in own]
    if any(not any(fnmatchcase(s.id, g) for s in rungs) for g in beyond):
        return choose_sets([*sets, *rungs], globs)  # which says so, and suggests from all of them
    return choose_sets([*sets, *(s for s in rungs if any(fnmatchcase(s.id, g) for g in beyond))], globs)
