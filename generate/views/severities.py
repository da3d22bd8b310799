"""Corruption x severity, for loaders that know nothing else: every set has its place, or is refused; nothing is padded."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...errors import BuildError, listed, suggest
from ...files import read_text, reason
from ..recipes.file_models import LONGEST_NAME
from .layout import SEVERITIES, ViewOptions, refuse
from .subject import SetRef, Subject

_NAME = re.compile(r"[A-Za-z0-9_+-]+")
FIVE = (
    "Choose what fits with {sets}, or say with --severities FILE which five sets are the severities 1 to 5 of a name "
    '(TOML: [severities], then a line such as black_lines = ["black_lines/06", ...] for each).'
)
ONE = (
    "Choose what fits with {sets}, or say with --severities FILE which set a name is "
    '(TOML: [severities], then a line such as rotate = ["rotate/2"] for each).'
)
UNBUILT = "Choose what fits with {sets}, or build without --view: `corruptset export` can be told which sets a name is."


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
    found = record.get("severities")
    if not isinstance(found, dict) or not found or set(record) != {"severities"}:
        raise BuildError(f'--severities {path}: expected one table, [severities], with lines such as name = ["set id", ...].')
    problems = [
        f"{name} is {value!r}; expected a list of set ids"
        for name, value in found.items()
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value)
    ]
    if problems:
        raise BuildError(f"--severities {path}:\n{listed(problems)}")
    return {name: tuple(value) for name, value in found.items()}


def grid(view: str, subject: Subject, options: ViewOptions) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return name -> the ids of its sets at severities 1 to 5, and what was left out on purpose.

    Raises
    ------
    BuildError
        A set has no place, a corruption lacks severities, or the mapping has mistakes: all of them listed.
    """
    problems: list[str] = []
    mapped = _mapped(subject, options, problems, len(SEVERITIES))
    used = {i for ids in mapped.values() for i in ids}
    plain: dict[str, dict[int, str]] = {}
    left: list[str] = []
    for ref in subject.sets:
        if ref.corruption is not None and ref.severity is not None and ref.corruption not in mapped:
            plain.setdefault(ref.corruption, {})[ref.severity] = ref.id
        elif ref.id not in used:
            left.append(ref.id)
    # what the mapping uses needs no place of its own
    plain = {name: by for name, by in plain.items() if len(by) == len(SEVERITIES) or not used.issuperset(by.values())}
    for name, by in plain.items():
        lacking = [s for s in SEVERITIES if s not in by]
        if lacking:
            problems.append(f"{name}: has severities {_some(by)}, not {_some(lacking)}")
    if not plain and not mapped:
        problems.append("there is no corruption with severities 1 to 5 in it")
    problems += _one_name(mapped, plain)
    choose = _choice(subject, left) if not problems else "--sets"
    if left and not options.severities:
        problems = _without_severity(subject, left) + problems
    refuse(view, problems, (UNBUILT if subject.manifest is None else FIVE).format(sets=choose))
    return {**{name: tuple(by[s] for s in SEVERITIES) for name, by in plain.items()}, **mapped}, _left_out(left)


def single(view: str, subject: Subject, options: ViewOptions) -> tuple[dict[str, str], list[str]]:
    """Return name -> set id, for views that have one set a corruption, and what was left out on purpose; ``clean`` is ``identity``.

    Raises
    ------
    BuildError
        A set has no name of its own, or the mapping has mistakes: all of them listed.
    """
    problems: list[str] = []
    mapped = {name: ids[0] for name, ids in _mapped(subject, options, problems, 1).items()}
    names: dict[str, list[str]] = {}
    left: list[str] = []
    for ref in subject.sets:
        name = "identity" if not ref.stages else ref.corruption if ref.severity is not None else None
        if ref.id in mapped.values():
            continue
        if name is None or name in mapped:
            left.append(ref.id)
        else:
            names.setdefault(name, []).append(ref.id)
    problems += [f"{name}: is {', '.join(ids)}; the view has one set a name" for name, ids in names.items() if len(ids) > 1]
    if left and not options.severities:
        problems += _without_severity(subject, left)
    problems += _one_name(mapped, names)
    refuse(view, problems, (UNBUILT if subject.manifest is None else ONE).format(sets="--sets"))
    return {**{name: ids[0] for name, ids in names.items()}, **mapped}, _left_out(left)


def _choice(subject: Subject, left: Sequence[str]) -> str:
    """Return the option that chooses what fits, with a pattern where one does: ``<corruption>/<severity>`` and nothing else."""
    slashed = {ref.id for ref in subject.sets if any("/" in name for name in (ref.id, *ref.aliases))}
    return "--sets '*/*'" if slashed == {ref.id for ref in subject.sets} - set(left) else "--sets"


def _left_out(ids: Sequence[str]) -> list[str]:
    more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
    return [f"Left out, as the file of severities does not name them: {', '.join(ids[:8])}{more}."] if ids else []


def _mapped(subject: Subject, options: ViewOptions, problems: list[str], count: int) -> dict[str, tuple[str, ...]]:
    known = {name: ref.id for ref in subject.sets for name in (ref.id, *ref.aliases)}
    found: dict[str, tuple[str, ...]] = {}
    for name, sets in options.severities.items():
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            problems.append(f"--severities: {name!r} is not a name for a file or folder (letters, digits, _ + -, at most {LONGEST_NAME})")
        if len(sets) != count:
            problems.append(f"--severities: {name} lists {len(sets)} sets; expected {count}")
        strange = [s for s in sets if s not in known]
        problems += [f"--severities: {name}: there is no set {s!r} here.{suggest(s, known)}" for s in strange]
        if not strange and len(sets) == count:
            found[name] = tuple(known[s] for s in sets)
    return found


def _one_name(mapped: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return what is wrong with names that a file system may take for one: those of the mapping, and those that a set brings itself."""
    folded: dict[str, list[str]] = {}
    for name in (*mapped, *others):
        folded.setdefault(name.casefold(), []).append(name)
    return [f"--severities: {' and '.join(names)} are one name where capitals do not count" for names in folded.values() if len(names) > 1]


def _without_severity(subject: Subject, ids: Sequence[str]) -> list[str]:
    """Return why sets have no severity; the levels of one corruption are one line."""
    refs = {s.id: s for s in subject.sets}
    lines: dict[tuple[str, str], list[str]] = {}
    for one in ids:
        ref = refs[one]
        lines.setdefault((ref.corruption or "" if ref.level is not None else one, _why(ref)), []).append(one)
    return [f"{_several(some)}: {why}" for (_, why), some in lines.items()]


def _why(ref: SetRef) -> str:
    if not ref.stages:
        return "the clean images have no severity"
    if ref.stages > 1:
        return f"{ref.stages} corruptions in a row have no severity"
    if ref.level is not None:
        return "levels are not severities"
    return "is not at a severity of a table, 1 to 5"


def _several(ids: Sequence[str]) -> str:
    return ", ".join(ids) if len(ids) < 4 else f"{ids[0]} ... {ids[-1]} ({len(ids)} sets)"


def _some(values: object) -> str:
    return ", ".join(str(v) for v in sorted(values))  # type: ignore[call-overload]
