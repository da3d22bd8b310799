"""Select sets of a recipe by shell patterns for their ids and aliases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...arguments import set_patterns
from ...corruptions.calibrations import Calibration, ladder
from ...corruptions.registry import get_corruption, is_corruption
from ...corruptions.stages import parse_chain, resolve_stage, set_id
from ...errors import CorruptsetError, UnknownCorruption, format_list, suggest
from .set_spec import SetSpec

if TYPE_CHECKING:
    from .recipe import Recipe

CLEAN = SetSpec("clean", ())
DEFAULT_LEVELS = 30
"""The number of levels of a gradual degradation if no recipe gives a number, as in Swingler 2022."""


class HasNames(Protocol):
    """A set in a recipe or in a dataset that can be selected by its names."""

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the aliases."""


Set = TypeVar("Set", bound=HasNames)
_ZERO = re.compile(r"[a-z0-9_]+/00?")
"""Matches a corruption at severity or level 0, which gives the clean images."""


def choose_sets(sets: Sequence[SetSpec], globs: Sequence[str] | None, *, recipe: Recipe | None = None) -> list[SetSpec]:
    """Return the sets whose id or alias matches a pattern, in the order of the recipe.

    Parameters
    ----------
    sets : sequence of SetSpec
        The sets of the recipe.
    globs : sequence of str or None
        Shell patterns, or None for all sets. If the recipe has no clean set, it is added if ``clean`` or a corruption
        at severity 0, such as ``fog/0``, is among the patterns.
    recipe : Recipe, optional
        The recipe that the sets belong to. If it is given, the message about an unknown set names the recipes that have
        this set.

    Raises
    ------
    ParameterError
        The list of patterns is empty.
    UnknownCorruption
        Some patterns match no set. The message lists all of them.

    Examples
    --------
    >>> sets = [SetSpec("fog/1", ()), SetSpec("fog/2", ()), SetSpec("snow/1", ())]
    >>> [s.id for s in choose_sets(sets, ["fog/*", "clean"])]
    ['clean', 'fog/1', 'fog/2']
    """
    if globs is None:
        return list(sets)
    globs = ["clean" if _ZERO.fullmatch(g) and is_corruption(g.partition("/")[0]) else g for g in set_patterns(globs)]
    known = list(sets)
    if "clean" in globs and not any("clean" in s.names for s in sets):
        known.insert(0, CLEAN)
    chosen, problems = match_sets(known, globs)
    if problems and recipe is not None:
        missing = [g for g in globs if not match_sets(known, [g])[0]]
        problems = [_recipes_with_set(g, recipe) or problem for g, problem in zip(missing, problems, strict=True)]
    if problems:
        raise UnknownCorruption(
            f"These values of --sets cannot be used:\n{format_list(problems)}\n`corruptset show RECIPE` lists the sets "
            "of a recipe."
        )
    return chosen


def _recipes_with_set(pattern: str, recipe: Recipe) -> str:
    """Return a sentence that names the other recipes that have a matching set and are for the same images.

    The sentence is empty if there is no such recipe.
    """
    from .recipe import load_recipe
    from .recipe_files import recipe_names

    others = [load_recipe(name) for name in recipe_names() if name != recipe.name]
    alike = [
        other.name
        for other in others
        if (other.calibration, other.preprocessing) == (recipe.calibration, recipe.preprocessing)
        and match_sets(other.resolve().sets, [pattern])[0]
    ]
    if not alike:
        return ""
    return f"{pattern!r} is not a set of {recipe.name}. It is a set of {' and '.join(alike)}."


def match_sets(sets: Sequence[Set], globs: Sequence[str]) -> tuple[list[Set], list[str]]:
    """Return the sets that match a pattern, and a message for each pattern without a match.

    A fractional severity may be written with a dot, so ``fog/2.25`` matches the set ``fog/2p25``.
    """
    names = {name for spec in sets for name in spec.names}
    globs = [
        g if "." not in g or any(fnmatchcase(n, g) for n in names) else re.sub(r"(?<=[-/][0-9])\.(?=[0-9])", "p", g)
        for g in globs
    ]
    near = [*names, *{f"{name.rpartition('/')[0]}/*" for name in names if "/" in name}]
    patterns = [g for g in globs if any(c in g for c in "*?[")]
    # Patterns without wildcards are looked up, because there may be thousands of ids and thousands of sets.
    plain = set(globs).difference(patterns)
    matched = {n for n in names if n in plain or any(fnmatchcase(n, g) for g in patterns)}
    unmatched = [g for g in globs if not (g in matched if g in plain else any(fnmatchcase(n, g) for n in matched))]
    problems = [f"{g!r} matches no set.{suggest(g, near)}" for g in unmatched]
    return [spec for spec in sets if not matched.isdisjoint(spec.names)], problems


def gradual_sets(table: Calibration) -> list[SetSpec]:
    """Return the sets of all gradual degradations at all levels, with the parameters of a calibration."""
    sets = []
    for name in ladder(table.ladder):
        gradual = get_corruption(name).gradual
        for level in range(1, min(DEFAULT_LEVELS, gradual.most) + 1) if gradual is not None else ():
            stage = resolve_stage(name, table, level=level)
            sets.append(SetSpec(set_id([stage]), (stage,)))
    return sets


def choose_preview_sets(sets: Sequence[SetSpec], globs: Sequence[str] | None, table: Calibration) -> list[SetSpec]:
    """Return the sets that a preview of one image shows.

    Parameters
    ----------
    sets : sequence of SetSpec
        The sets of the recipe.
    globs : sequence of str or None
        Shell patterns as in `choose_sets`. A pattern that matches no set of the recipe may also match gradual
        degradations (`gradual_sets`) or be the id of a chain (``fog-2.25+snow-1``). None selects all sets of the
        recipe, but only levels 1, 5, 10, ... of gradual degradations.
    table : Calibration
        The calibration of sets that are not in the recipe.

    Raises
    ------
    UnknownCorruption
        Some patterns match no set. The message lists all of them.

    Examples
    --------
    >>> from corruptset.corruptions.calibrations import get_calibration
    >>> table = get_calibration("imagenet")
    >>> chosen = choose_preview_sets([], ["black_lines/0*", "clean"], table)
    >>> chosen[0].id, chosen[1].id, len(chosen)
    ('clean', 'black_lines/01', 10)
    >>> [s.id for s in choose_preview_sets(chosen[1:], None, table)]
    ['black_lines/01', 'black_lines/05']
    """
    if globs is None:
        return [s for s in sets if len(s.stages) != 1 or s.stages[0].level in (None, 1, *range(5, 100, 5))]
    globs, names = set_patterns(globs), {name for spec in sets for name in spec.names}
    unmatched = [g for g in globs if g != "clean" and not any(fnmatchcase(name, g) for name in names)]
    additional = [s for s in gradual_sets(table) if s.id not in names]
    for name in unmatched:
        with suppress(CorruptsetError):  # either a pattern with wildcards, or a mistake that choose_sets reports
            chain = parse_chain(name, table)
            if chain and set_id(chain) not in names | {s.id for s in additional}:
                additional.append(SetSpec(set_id(chain), chain, aliases=(name,)))
    matches, problems = match_sets(additional, unmatched)
    # If a pattern has no match, choose_sets suggests similar names from all of these sets.
    return choose_sets([*sets, *(additional if problems else matches)], globs)
