"""The names of sets in a view: each has one, or is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...errors import first_few, suggest
from ...manifests.records.fields import LONGEST_NAME
from ..recipes.file_models import RecipeTable
from .contents import ViewContents, ViewOptions, ViewSet, refuse
from .layouts import Layout, read_table

Words = dict[str, str | int]
NamedSets = tuple[list[tuple[str, Words]], list[str]]
"""(set id, what the words of a layout's templates are for it), and notes of what is left out on purpose."""

_NAME = re.compile(rf"[A-Za-z0-9_+-]{{1,{LONGEST_NAME}}}")
_FILE = "say with --severities FILE which {} (TOML: [severities], then a line such as {} for each)."
_FIVE = _FILE.format("five sets are the severities 1 to 5 of a name", 'black_lines = ["black_lines/06", ...]')
_ONE = _FILE.format("set a name is", 'rotate = ["rotate/2"]')
_BUILT = "build without --view: `corruptset export` takes a file that says which sets a name is."


class SeverityFile(RecipeTable):
    """A file of severities: which set ids a name is."""

    severities: Annotated[dict[str, Annotated[tuple[str, ...], Field(min_length=1)]], Field(min_length=1)]


def read_severities(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the table ``[severities]`` of a TOML file: name -> set ids."""
    return read_table(SeverityFile, path, "--severities").severities


def named_sets(layout: Layout, contents: ViewContents, options: ViewOptions) -> NamedSets:
    """Return the sets that go into a layout, in its order, with their names there.

    Raises
    ------
    BuildError
        A set has no place, a corruption lacks severities, or the file of severities has mistakes: all of them listed.
    """
    if layout.names == "letters":
        known = ", ".join(f"{name} (_{letter})" for name, letter in layout.letters.items())
        instead = ", or build without --view: `corruptset export` has views of any set" * (contents.manifest is None)
        then = f"It takes {known} and clean. Choose what fits with --sets{instead}."
        refuse(layout.name, _misfits(layout, contents.sets), then)
    if layout.names in ("any", "letters"):
        return [(one.id, {}) for one in contents.sets], []
    return _by_corruption(layout, contents, options)


def _misfit(layout: Layout, one: ViewSet) -> str | None:
    """Return why a set has no severity, or no letter, of its own."""
    what = "letter" if layout.letters else "severity"
    if not one.stages:
        return "the clean images have no severity" if layout.names == "severities" else None
    if one.corruption is None:
        return f"{one.stages} corruptions in a row have no {what}"
    if layout.letters and one.corruption not in layout.letters:
        return f"{one.corruption} has no letter"
    if one.severity is None:
        return "is not at a severity of a table, 1 to 5" if one.level is None else "levels are not severities"
    return None


def _misfits(layout: Layout, sets: Iterable[ViewSet]) -> list[str]:
    """Return why sets have no place; those of one ladder are one line."""
    lines: dict[tuple[str | None, str], list[str]] = {}
    for one in sets:
        if (why := _misfit(layout, one)) is not None:
            lines.setdefault((one.id if one.level is None else one.corruption, why), []).append(one.id)
    return [
        f"{', '.join(ids) if len(ids) < 4 else f'{ids[0]} ... {ids[-1]} ({len(ids)} sets)'}: {why}"
        for (_, why), ids in lines.items()
    ]


def _by_corruption(layout: Layout, contents: ViewContents, options: ViewOptions) -> NamedSets:
    """Name sets by their corruptions, with five severities each, or one set."""
    five = layout.names == "severities"
    severities = range(1, 6 if five else 2)
    given, problems = _given(contents, options, len(severities))
    used = set(chain(*given.values()))
    found: dict[str, dict[int, list[str]]] = {}
    unplaced: list[ViewSet] = []
    for one in contents.sets:
        name = one.corruption or "identity"
        if _misfit(layout, one) is None and name not in given and (five or one.id not in used):
            found.setdefault(name, {}).setdefault(one.severity if five and one.severity else 1, []).append(one.id)
        elif one.id not in used:
            unplaced.append(one)
    for name, by in list(found.items()):
        if lacking := sorted(set(severities) - by.keys()):
            if used.issuperset(chain(*by.values())):  # what the file of severities uses needs no place of its own
                del found[name]
                continue
            has, lacks = (", ".join(map(str, some)) for some in (sorted(by), lacking))
            problems.append(f"{name}: has severities {has}, not {lacks}")
        problems += [f"{name}: is {', '.join(ids)}; the view has one set a name" for ids in by.values() if len(ids) > 1]
    if five and not found and not given:
        problems.append("there is no corruption with severities 1 to 5 in it")
    if not options.severities:
        problems = _misfits(layout, unplaced) + problems
    fits = [f"{name}/*" for name, by in found.items() if five and len(by) == len(severities)]
    if fits and len(fits) == len(found) and not any("/" in one.id for one in unplaced):
        fits = ["*/*"]
    pattern = f" (such as '{','.join(fits)}')" if fits else ""
    how = _BUILT if contents.manifest is None else _FIVE if five else _ONE
    refuse(layout.name, problems, f"Choose what fits with --sets{pattern}, or {how}")
    names = {name: [by[severity][0] for severity in severities] for name, by in found.items()} | given
    left_out = first_few([one.id for one in unplaced], 8)
    note = f"Left out, as the file of severities does not name them: {left_out}."
    return [
        (set_id, {"corruption": name, "severity": severity} if five else {"corruption": name})
        for name, ids in names.items()
        for severity, set_id in enumerate(ids, 1)
    ], [note] * bool(unplaced)


def _given(contents: ViewContents, options: ViewOptions, count: int) -> tuple[dict[str, list[str]], list[str]]:
    """Return the names of the file of severities with their sets' ids, and its mistakes."""
    known, given, problems = contents.by_name, dict[str, list[str]](), list[str]()
    for name, sets in options.severities.items():
        if not _NAME.fullmatch(name):
            problems.append(
                f"--severities: {name!r} is not a name for a file or folder (letters, digits, _ + -, "
                f"at most {LONGEST_NAME})"
            )
        if len(sets) != count:
            problems.append(f"--severities: {name} lists {len(sets)} sets; expected {count}")
        unknown = [s for s in sets if s not in known]
        problems += [f"--severities: {name}: there is no set {s!r} here.{suggest(s, known)}" for s in unknown]
        if not unknown and len(sets) == count:
            given[name] = [known[s].id for s in sets]
    return given, problems
