"""Which sets have which names in a view: every set has one, or is refused; nothing is padded."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from ...errors import BuildError, first_few, listed, suggest
from ...files import read_text, reason
from ..recipes.file_models import LONGEST_NAME
from .layouts import Layout
from .subject import SetRef, Subject, ViewOptions, refuse

Words = dict[str, str | int]
NamedSets = tuple[list[tuple[str, Words]], list[str]]
"""(set id, what the words of a layout's templates are for it), and notes of what is left out on purpose."""
SEVERITIES = (1, 2, 3, 4, 5)

_NAME = re.compile(r"[A-Za-z0-9_+-]+")
_FIVE = ("which five sets are the severities 1 to 5 of a name", 'black_lines = ["black_lines/06", ...]')
_ONE = ("which set a name is", 'rotate = ["rotate/2"]')


def read_severities(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the mapping of a file of severities: TOML, ``[severities]``, a name = a list of set ids.

    Raises
    ------
    BuildError
        It cannot be read, or is not of that form.
    """
    try:
        record = tomllib.loads(read_text(Path(path)))
    except OSError as e:
        raise BuildError(f"--severities {path} cannot be read: {reason(e)}.") from e
    except tomllib.TOMLDecodeError as e:
        raise BuildError(f"--severities {path} is not TOML: {e}.") from e
    table = record.get("severities")
    if not isinstance(table, dict) or not table or set(record) != {"severities"}:
        raise BuildError(f'--severities {path}: expected one table, [severities], with lines such as name = ["set id", ...].')
    problems = [
        f"{name} is {sets!r}; expected a list of set ids"
        for name, sets in table.items()
        if not isinstance(sets, list) or not sets or not all(isinstance(set_id, str) for set_id in sets)
    ]
    if problems:
        raise BuildError(f"--severities {path}:\n{listed(problems)}")
    return {name: tuple(sets) for name, sets in table.items()}


def named_sets(layout: Layout, subject: Subject, options: ViewOptions) -> NamedSets:
    """Return the sets that go into a layout, in its order, with their names there.

    Raises
    ------
    BuildError
        A set has no place, a corruption lacks severities, or the file of severities has mistakes: all of them listed.
    """
    if layout.names == "any":
        return [(ref.id, {}) for ref in subject.sets], []
    return _lettered(layout, subject) if layout.names == "letters" else _by_corruption(layout, subject, options)


def _by_corruption(layout: Layout, subject: Subject, options: ViewOptions) -> NamedSets:
    """Name sets by their corruptions: five severities of each, or one set, and then the clean images are ``identity``."""
    five = layout.names == "severities"
    severities = SEVERITIES if five else (1,)
    mapped, problems = _mapped(subject, options, len(severities))
    used = {set_id for ids in mapped.values() for set_id in ids}
    plain: dict[str, dict[int, list[str]]] = {}
    unplaced: list[SetRef] = []
    for ref in subject.sets:
        name = ref.corruption if ref.severity is not None else None if five or ref.stages else "identity"
        if name is not None and name not in mapped and (five or ref.id not in used):
            plain.setdefault(name, {}).setdefault(ref.severity if five and ref.severity else 1, []).append(ref.id)
        elif ref.id not in used:
            unplaced.append(ref)
    # what the file of severities uses needs no place of its own
    plain = {name: by for name, by in plain.items() if len(by) == len(severities) or not used.issuperset(chain(*by.values()))}
    for name, by in plain.items():
        if lacking := set(severities) - by.keys():
            problems.append(f"{name}: has severities {_numbers(by)}, not {_numbers(lacking)}")
        problems += [f"{name}: is {', '.join(ids)}; the view has one set a name" for ids in by.values() if len(ids) > 1]
    if five and not plain and not mapped:
        problems.append("there is no corruption with severities 1 to 5 in it")
    problems += _equal_names(mapped, plain)
    option = "--sets" if problems or not five else _option(subject, unplaced)
    if not options.severities:
        problems = _reasons(unplaced) + problems
    refuse(layout.name, problems, _advice(subject, option, _FIVE if five else _ONE))
    names = {name: [by[severity][0] for severity in severities] for name, by in plain.items()} | mapped
    left_out = [f"Left out, as the file of severities does not name them: {first_few([ref.id for ref in unplaced], 8)}."]
    return [
        (set_id, {"corruption": name, "severity": severity} if five else {"corruption": name})
        for name, ids in names.items()
        for severity, set_id in enumerate(ids, 1)
    ], left_out * bool(unplaced)


def _lettered(layout: Layout, subject: Subject) -> NamedSets:
    """Name the sets of corruptions that have a letter, and the clean images, which have none."""
    problems = [
        f"{ref.id}: {_why(ref, layout)}"
        for ref in subject.sets
        if ref.stages and (ref.corruption not in layout.letters or ref.severity is None)
    ]
    known = ", ".join(f"{name} (_{letter})" for name, letter in layout.letters.items())
    otherwise = ", or build without --view: `corruptset export` has views of any set." if subject.manifest is None else "."
    refuse(layout.name, problems, f"It takes {known} and clean. Choose what fits with --sets{otherwise}")
    letters = {ref.id: f"_{layout.letters[str(ref.corruption)]}" for ref in subject.sets if ref.stages}
    places = {ref.id: f"{ref.corruption}/{ref.severity}" if ref.stages else "clean" for ref in subject.sets}
    return [(set_id, {"lettered_set": place, "letter": letters.get(set_id, "")}) for set_id, place in places.items()], []


def _why(ref: SetRef, layout: Layout) -> str:
    if ref.stages > 1:
        return f"{ref.stages} corruptions in a row have no letter"
    return "is not at a severity of a table, 1 to 5" if ref.corruption in layout.letters else f"{ref.corruption} has no letter"


def _mapped(subject: Subject, options: ViewOptions, count: int) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the names of the file of severities with the ids of their sets, and what is wrong with them."""
    known = subject.by_name
    mapped: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for name, sets in options.severities.items():
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            problems.append(f"--severities: {name!r} is not a name for a file or folder (letters, digits, _ + -, at most {LONGEST_NAME})")
        if len(sets) != count:
            problems.append(f"--severities: {name} lists {len(sets)} sets; expected {count}")
        unknown = [s for s in sets if s not in known]
        problems += [f"--severities: {name}: there is no set {s!r} here.{suggest(s, known)}" for s in unknown]
        if not unknown and len(sets) == count:
            mapped[name] = tuple(known[s].id for s in sets)
    return mapped, problems


def _equal_names(mapped: Iterable[str], plain: Iterable[str]) -> list[str]:
    """Return which names a file system may take for one: those of the file of severities, and those that a set brings itself."""
    folded: dict[str, list[str]] = {}
    for name in (*mapped, *plain):
        folded.setdefault(name.casefold(), []).append(name)
    return [f"--severities: {' and '.join(names)} are one name where capitals do not count" for names in folded.values() if len(names) > 1]


def _reasons(refs: Sequence[SetRef]) -> list[str]:
    """Return why sets have no severity; the levels of one corruption are one line."""
    lines: dict[tuple[str | None, str], list[str]] = {}
    for ref in refs:
        lines.setdefault((ref.corruption if ref.level is not None else ref.id, _reason(ref)), []).append(ref.id)
    return [f"{', '.join(ids) if len(ids) < 4 else f'{ids[0]} ... {ids[-1]} ({len(ids)} sets)'}: {why}" for (_, why), ids in lines.items()]


def _reason(ref: SetRef) -> str:
    if not ref.stages:
        return "the clean images have no severity"
    if ref.stages > 1:
        return f"{ref.stages} corruptions in a row have no severity"
    return "levels are not severities" if ref.level is not None else "is not at a severity of a table, 1 to 5"


def _option(subject: Subject, unplaced: Sequence[SetRef]) -> str:
    """Return the option that chooses what fits, with a pattern where one does: ``<corruption>/<severity>`` and nothing else."""
    without = {ref.id for ref in unplaced}
    return "--sets '*/*'" if all(any("/" in name for name in ref.names) == (ref.id not in without) for ref in subject.sets) else "--sets"


def _advice(subject: Subject, option: str, example: tuple[str, str]) -> str:
    if subject.manifest is None:
        return f"Choose what fits with {option}, or build without --view: `corruptset export` takes a file that says which sets a name is."
    which, line = example
    how = f"--severities FILE {which} (TOML: [severities], then a line such as {line} for each)"
    return f"Choose what fits with {option}, or say with {how}."


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(values)))
