"""Choose the names of sets in an export, and reject sets that have no name in the layout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ...error_lines import error_lines
from ...errors import BuildError, RecipeError, first_few, problems_message, suggest
from ...files import parse_toml, read_text, reason
from ...manifests.records.fields import MAX_NAME_LENGTH
from ..recipes.file_models import RecipeTable
from .contents import ExportContents, ExportOptions, ExportSet, refuse
from .layouts import Layout

Words = dict[str, str | int]
"""A mapping from words in a layout's templates to their values."""
NamedSets = tuple[list[tuple[str, Words]], list[str]]
"""A list of sets, each with its id and its words, and notes on sets that are omitted on purpose."""

_NAME = re.compile(rf"[A-Za-z0-9_+-]{{1,{MAX_NAME_LENGTH}}}")
_FILE = "pass --severities FILE, a TOML file that states {}: the line [severities], then a line such as {} per name."
_FIVE = _FILE.format("which five sets are the severities 1 to 5 of a name", 'black_lines = ["black_lines/06", ...]')
_ONE = _FILE.format("which set belongs to a name", 'rotate = ["rotate/2"]')


class SeverityFile(RecipeTable):
    """A severities file, which maps names to set ids."""

    severities: Annotated[dict[str, Annotated[tuple[str, ...], Field(min_length=1)]], Field(min_length=1)]


def read_severities(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return a mapping from names to set ids, from the table ``[severities]`` of a TOML file.

    Raises
    ------
    BuildError
        The file cannot be read or contains errors. The message lists all errors.
    """
    where = f"--severities {path}"
    try:
        return SeverityFile.model_validate(parse_toml(read_text(Path(path)), where)).severities
    except OSError as e:
        raise BuildError(f"{where} cannot be read: {reason(e)}. Expected a TOML file.") from e
    except ValidationError as e:
        raise BuildError(problems_message(where, error_lines(e))) from None
    except RecipeError as e:
        raise BuildError(str(e)) from None


def named_sets(layout: Layout, contents: ExportContents, options: ExportOptions) -> NamedSets:
    """Return the sets to export, with their names in the layout, in the order in which the layout stores them.

    Raises
    ------
    BuildError
        A set has no place, a corruption lacks severities, or the severities option contains errors. The message lists
        all problems.
    """
    if layout.names == "letters":
        known = ", ".join(f"{name} (_{letter})" for name, letter in layout.letters.items())
        then = f"The layout has letters for {known}, and it accepts clean. Use --sets to choose such sets."
        refuse(layout.name, _misfits(layout, contents.sets), then)
    if layout.names in ("any", "letters"):
        return [(export_set.id, {}) for export_set in contents.sets], []
    return _by_corruption(layout, contents, options)


def _misfit(layout: Layout, export_set: ExportSet) -> str | None:
    """Return the reason why a set has no severity or letter in the layout, or None if it has one."""
    what = "letter" if layout.letters else "severity"
    if not export_set.stages:
        return "the clean images have no severity" if layout.names == "severities" else None
    if export_set.corruption is None:
        return f"a chain of {export_set.stages} corruptions has no {what}"
    if layout.letters and export_set.corruption not in layout.letters:
        return f"{export_set.corruption} has no letter"
    if export_set.severity is None:
        return "its severity is not one of 1 to 5" if export_set.level is None else "levels are not severities"
    return None


def _misfits(layout: Layout, sets: Iterable[ExportSet]) -> list[str]:
    """Return lines that say which sets have no place, and why. All levels of a corruption share one line."""
    lines: dict[tuple[str | None, str], list[str]] = {}
    for export_set in sets:
        if (why := _misfit(layout, export_set)) is not None:
            lines.setdefault((export_set.id if export_set.level is None else export_set.corruption, why), []).append(
                export_set.id
            )
    return [
        f"{', '.join(ids) if len(ids) < 4 else f'{ids[0]} ... {ids[-1]} ({len(ids)} sets)'}: {why}"
        for (_, why), ids in lines.items()
    ]


def _by_corruption(layout: Layout, contents: ExportContents, options: ExportOptions) -> NamedSets:
    """Return the sets, named after their corruptions, with five severities or one set per corruption."""
    five = layout.names == "severities"
    severities = range(1, 6 if five else 2)
    given, problems = _parse_severities(contents, options, len(severities))
    used = set(chain(*given.values()))
    found: dict[str, dict[int, list[str]]] = {}
    unplaced: list[ExportSet] = []
    for export_set in contents.sets:
        name = export_set.corruption or "identity"
        if _misfit(layout, export_set) is None and name not in given and (five or export_set.id not in used):
            found.setdefault(name, {}).setdefault(
                export_set.severity if five and export_set.severity else 1, []
            ).append(export_set.id)
        elif export_set.id not in used:
            unplaced.append(export_set)
    for name, by in list(found.items()):
        if lacking := sorted(set(severities) - by.keys()):
            if used.issuperset(chain(*by.values())):  # the severities file names all of these sets
                del found[name]
                continue
            has, lacks = (", ".join(map(str, some)) for some in (sorted(by), lacking))
            problems.append(f"{name}: has severities {has}, not {lacks}")
        problems += [
            f"{name}: is {', '.join(ids)}; the layout has one set per name" for ids in by.values() if len(ids) > 1
        ]
    if five and not found and not given:
        problems.append("the dataset has no corruption with severities 1 to 5")
    if not options.severities:
        problems = _misfits(layout, unplaced) + problems
    fits = [f"{name}/*" for name, by in found.items() if five and len(by) == len(severities)]
    if fits and len(fits) == len(found) and not any("/" in export_set.id for export_set in unplaced):
        fits = ["*/*"]
    pattern = f" (such as '{','.join(fits)}')" if fits else ""
    refuse(layout.name, problems, f"Use --sets to choose sets that fit{pattern}, or {_FIVE if five else _ONE}")
    names = {name: [by[severity][0] for severity in severities] for name, by in found.items()} | given
    left_out = first_few([export_set.id for export_set in unplaced], 8)
    note = f"Omitted, because the file of severities does not name them: {left_out}."
    return [
        (set_id, {"corruption": name, "severity": severity} if five else {"corruption": name})
        for name, ids in names.items()
        for severity, set_id in enumerate(ids, 1)
    ], [note] * bool(unplaced)


def _parse_severities(
    contents: ExportContents, options: ExportOptions, count: int
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the mapping from names to set ids in the option `severities`, and the errors in this option.

    `count` is the number of sets that each name needs.
    """
    known, given, problems = contents.by_name, dict[str, list[str]](), list[str]()
    for name, sets in options.severities.items():
        if not _NAME.fullmatch(name):
            problems.append(
                f"--severities: {name!r} is not a name for a file or folder (letters, digits, _ + -, "
                f"at most {MAX_NAME_LENGTH})"
            )
        if len(sets) != count:
            problems.append(f"--severities: {name} lists {len(sets)} sets; expected {count}")
        unknown = [s for s in sets if s not in known]
        problems += [f"--severities: {name}: the dataset has no set {s!r}.{suggest(s, known)}" for s in unknown]
        if not unknown and len(sets) == count:
            given[name] = [known[s].id for s in sets]
    return given, problems
