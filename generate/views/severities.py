"""Which sets have which names in a view: every set has one, or is refused; nothing is padded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...errors import first_few, suggest
from ..recipes.file_models import LONGEST_NAME, RecipeTable
from .layouts import Layout, read_table
from .subject import SetRef, Subject, ViewOptions, refuse

Words = dict[str, str | int]
NamedSets = tuple[list[tuple[str, Words]], list[str]]
"""(set id, what the words of a layout's templates are for it), and notes of what is left out on purpose."""

_NAME = re.compile(rf"[A-Za-z0-9_+-]{{1,{LONGEST_NAME}}}")
_HOW = "say with --severities FILE which {} (TOML: [severities], then a line such as {} for each)."
_FIVE = _HOW.format("five sets are the severities 1 to 5 of a name", 'black_lines = ["black_lines/06", ...]')
_ONE = _HOW.format("set a name is", 'rotate = ["rotate/2"]')


class SeverityFile(RecipeTable):
    """A file of severities: which set ids a name is."""

    severities: Annotated[dict[str, Annotated[tuple[str, ...], Field(min_length=1)]], Field(min_length=1)]


def read_severities(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the mapping of a file of severities: TOML, ``[severities]``, a name = a list of set ids.

    Raises
    ------
    BuildError
        It cannot be read, or is not of that form.
    """
    return read_table(SeverityFile, path, "--severities").severities


def named_sets(layout: Layout, subject: Subject, options: ViewOptions) -> NamedSets:
    """Return the sets that go into a layout, in its order, with their names there.

    Raises
    ------
    BuildError
        A set has no place, a corruption lacks severities, or the file of severities has mistakes: all of them listed.
    """
    if layout.names == "letters":
        known = ", ".join(f"{name} (_{letter})" for name, letter in layout.letters.items())
        otherwise = (
            ", or build without --view: `corruptset export` has views of any set." if subject.manifest is None else "."
        )
        then = f"It takes {known} and clean. Choose what fits with --sets{otherwise}"
        refuse(layout.name, _misfits(layout, subject.sets), then)
    if layout.names in ("any", "letters"):
        return [(ref.id, {}) for ref in subject.sets], []
    return _by_corruption(layout, subject, options)


def _misfit(layout: Layout, ref: SetRef) -> str | None:
    """Return why a set has no severity, or no letter, of its own; None where it has, or where clean images need
    none.
    """
    what = "letter" if layout.letters else "severity"
    if not ref.stages:
        return "the clean images have no severity" if layout.names == "severities" else None
    if ref.corruption is None:
        return f"{ref.stages} corruptions in a row have no {what}"
    if layout.letters and ref.corruption not in layout.letters:
        return f"{ref.corruption} has no letter"
    if ref.severity is None:
        return "is not at a severity of a table, 1 to 5" if ref.level is None else "levels are not severities"
    return None


def _misfits(layout: Layout, refs: Iterable[SetRef]) -> list[str]:
    """Return why sets have no place; those of one ladder are one line."""
    lines: dict[tuple[str | None, str], list[str]] = {}
    for ref in refs:
        if (why := _misfit(layout, ref)) is not None:
            lines.setdefault((ref.id if ref.level is None else ref.corruption, why), []).append(ref.id)
    return [
        f"{', '.join(ids) if len(ids) < 4 else f'{ids[0]} ... {ids[-1]} ({len(ids)} sets)'}: {why}"
        for (_, why), ids in lines.items()
    ]


def _by_corruption(layout: Layout, subject: Subject, options: ViewOptions) -> NamedSets:
    """Name sets by their corruptions: five severities of each, or one set, and then the clean images are
    ``identity``.
    """
    five = layout.names == "severities"
    severities = range(1, 6 if five else 2)
    mapped, problems = _mapped(subject, options, len(severities))
    used = set(chain(*mapped.values()))
    plain: dict[str, dict[int, list[str]]] = {}
    unplaced: list[SetRef] = []
    for ref in subject.sets:
        name = ref.corruption or "identity"
        if _misfit(layout, ref) is None and name not in mapped and (five or ref.id not in used):
            plain.setdefault(name, {}).setdefault(ref.severity if five and ref.severity else 1, []).append(ref.id)
        elif ref.id not in used:
            unplaced.append(ref)
    # what the file of severities uses needs no place of its own
    plain = {
        name: by for name, by in plain.items() if len(by) == len(severities) or not used.issuperset(chain(*by.values()))
    }
    for name, by in plain.items():
        if lacking := set(severities) - by.keys():
            has, lacks = (", ".join(map(str, sorted(some))) for some in (by, lacking))
            problems.append(f"{name}: has severities {has}, not {lacks}")
        problems += [f"{name}: is {', '.join(ids)}; the view has one set a name" for ids in by.values() if len(ids) > 1]
    if five and not plain and not mapped:
        problems.append("there is no corruption with severities 1 to 5 in it")
    folded: dict[str, list[str]] = {}
    for name in (*mapped, *plain):
        folded.setdefault(name.casefold(), []).append(name)
    equal = [names for names in folded.values() if len(names) > 1]
    problems += [f"--severities: {' and '.join(names)} are one name where capitals do not count" for names in equal]
    # a pattern chooses what fits where every other set has no "/": <corruption>/<severity> and nothing else
    misfits = {ref.id for ref in unplaced}
    split = all(any("/" in name for name in ref.names) == (ref.id not in misfits) for ref in subject.sets)
    pattern = " '*/*'" if five and not problems and split else ""
    how = "build without --view: `corruptset export` takes a file that says which sets a name is."
    if subject.manifest is not None:
        how = _FIVE if five else _ONE
    if not options.severities:
        problems = _misfits(layout, unplaced) + problems
    refuse(layout.name, problems, f"Choose what fits with --sets{pattern}, or {how}")
    names = {name: [by[severity][0] for severity in severities] for name, by in plain.items()} | mapped
    left_out = [
        f"Left out, as the file of severities does not name them: {first_few([ref.id for ref in unplaced], 8)}."
    ]
    return [
        (set_id, {"corruption": name, "severity": severity} if five else {"corruption": name})
        for name, ids in names.items()
        for severity, set_id in enumerate(ids, 1)
    ], left_out * bool(unplaced)


def _mapped(subject: Subject, options: ViewOptions, count: int) -> tuple[dict[str, list[str]], list[str]]:
    """Return the names of the file of severities with the ids of their sets, and what is wrong with them."""
    known = subject.by_name
    mapped: dict[str, list[str]] = {}
    problems: list[str] = []
    for name, sets in options.severities.items():
        if not _NAME.fullmatch(name):
            problems.append(
                f"--severities: {name!r} is not a name for a file or folder (letters, digits, _ + -, at most "
                f"{LONGEST_NAME})"
            )
        if len(sets) != count:
            problems.append(f"--severities: {name} lists {len(sets)} sets; expected {count}")
        unknown = [s for s in sets if s not in known]
        problems += [f"--severities: {name}: there is no set {s!r} here.{suggest(s, known)}" for s in unknown]
        if not unknown and len(sets) == count:
            mapped[name] = [known[s].id for s in sets]
    return mapped, problems
