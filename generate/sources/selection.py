"""Selections: some of a source's samples, chosen before any of them is looked at."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ...canonical import canonical_sha256
from ...corruptions.keys import MAX_SEED
from ...errors import SourceError, listed, suggest
from ...files import read_text, reason
from ...manifests.records.models import ClassRecord
from .groups import HoldOut
from .source import Sample
from .super_categories import read_super_categories

MAX_IDS_BYTES = 512 * 2**20
T = TypeVar("T")


def select(
    source: Sequence[Sample],
    /,
    *,
    samples: int | None = None,
    first: int | None = None,
    per_class: int | None = None,
    ids: str | Path | Sequence[str] | None = None,
    hold_out: HoldOut | None = None,
    per_super_category: str | Path | None = None,
    classes: Sequence[ClassRecord] = (),
) -> list[Sample]:
    """Return the chosen samples, in the source's order.

    Where several options are given, each chooses from the result of the one before: ids, hold-out, first, per
    super-category, per class, samples.

    Parameters
    ----------
    source : sequence of Sample
        All samples of a source.
    samples : int, optional
        So many, spread evenly: number i is the sample at ``(i * total) // samples``. All of them where there are no
        more.
    first : int, optional
        The first so many.
    per_class : int, optional
        The first so many of every class; all of a class that has no more.
    ids : path or sequence of str, optional
        These: a text file with an id, or a file's path in the source, a line; or the ids themselves.
    hold_out : HoldOut, optional
        Those of some groups of the source, or those of all others.
    per_super_category : path or str, optional
        The first so many of every super-category, as its file says (`read_super_categories`); none of a class that is
        in none.
    classes : sequence of ClassRecord
        The source's: super-categories name them.

    Raises
    ------
    SourceError
        A number below 1; ids that the source does not have, or that are given twice; groups that it does not have.

    Examples
    --------
    >>> [s.index for s in select([Sample(i, str(i), i % 2) for i in range(10)], samples=4)]
    [0, 2, 5, 7]
    >>> [s.index for s in select([Sample(i, str(i), i % 2) for i in range(10)], per_class=2)]
    [0, 1, 2, 3]
    """
    for option, value in (("--samples", samples), ("--first", first), ("--per-class", per_class)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_SEED):
            raise SourceError(
                f"{option} is {value!r}; expected a whole number of images, at least 1 and at most {MAX_SEED}."
            )
    chosen = list(source) if ids is None else _named(source, ids)
    if hold_out is not None:
        held = set(hold_out.matched(source))
        chosen = [s for s in chosen if (s.group in held) != hold_out.train]
    if first is not None:
        chosen = chosen[:first]
    if per_super_category is not None:
        categories = read_super_categories(per_super_category)
        category_of = categories.by_label(classes)
        chosen = _first_of_each(
            [s for s in chosen if s.label in category_of], lambda s: category_of[s.class_index], categories.images
        )
    if per_class is not None:
        chosen = _first_of_each(chosen, lambda s: s.class_index, per_class)
    return spread(chosen, samples)


def spread(items: Sequence[T], most: int | None) -> list[T]:
    """Return at most so many of some items, spread evenly; None is all."""
    count = len(items) if most is None else min(most, len(items))
    return [items[(i * len(items)) // count] for i in range(count)]


def _first_of_each(samples: Sequence[Sample], group: Callable[[Sample], Hashable], count: int) -> list[Sample]:
    kept: dict[Hashable, list[Sample]] = {}
    for sample in samples:
        if len(members := kept.setdefault(group(sample), [])) < count:
            members.append(sample)
    return sorted((sample for members in kept.values() for sample in members), key=lambda sample: sample.index)


def selection_record(
    source: Sequence[Sample],
    chosen: Sequence[Sample],
    *,
    ids: str | Path | Sequence[str] | None = None,
    hold_out: HoldOut | None = None,
    grouping: str | None = None,
    per_super_category: str | Path | None = None,
    pattern: str | None = None,
    **numbers: int | None,
) -> dict[str, Any]:
    """Return the manifest's record of the selection: the options, the total and the chosen number.

    Given ids are recorded as their number and the sha256 of their canonical JSON, in the source's order; never as a
    path. Super-categories, the pattern of images, what the groups are, and which were held out, are recorded only where
    they were given. `numbers` are the other options of `select`.
    """
    given = [] if ids is None else [sample.id for sample in _named(source, ids)]
    splits = {sample.split for sample in source if sample.split is not None}
    more = {
        "images": pattern,
        "grouping": grouping,
        "hold_out": hold_out and hold_out.record(source),
        "per_super_category": per_super_category and read_super_categories(per_super_category).record,
    }
    return {
        "split": "all" if len(splits) > 1 else next(iter(splits), None),
        **{option: numbers.get(option) for option in ("samples", "first", "per_class")},
        "ids": {"count": len(given), "sha256": canonical_sha256(given)} if given else None,
        "total": len(source),
        "chosen": len(chosen),
        **{key: value for key, value in more.items() if value is not None},
    }


def _named(source: Sequence[Sample], ids: str | Path | Sequence[str]) -> list[Sample]:
    """Return the samples that were named, in the source's order."""
    where = f"The ids {ids}" if isinstance(ids, str | Path) else "The list of ids"
    if isinstance(ids, str | Path):
        try:
            ids = read_text(Path(ids).expanduser(), MAX_IDS_BYTES).split("\n")
        except OSError as e:
            raise SourceError(
                f"{where} cannot be read: {reason(e)}. Expected a text file with one id a line."
            ) from None
    number_of = {sample.path: i for i, sample in enumerate(source)} | {sample.id: i for i, sample in enumerate(source)}
    problems: list[str] = []
    line_of: dict[int, int] = {}
    for line, name in enumerate(map(str.strip, ids), 1):
        number = number_of.get(name, number_of.get(name.rpartition("/")[2].rpartition(".")[0]))
        if not name:
            continue
        if number is None:
            near = suggest(name, [s.id for s in source]) if len(problems) < 3 and len(source) < 5000 else ""
            problems.append(f"line {line}: there is no sample {name!r} in the source.{near}")
        elif line_of.setdefault(number, line) != line:
            problems.append(f"line {line}: {name!r} was given on line {line_of[number]} already")
    if not line_of:
        problems = problems or ["it names no sample"]
    if problems:
        raise SourceError(
            f"{where} has {len(problems)} mistake{'s' * (len(problems) > 1)}:\n{listed(problems)}\nExpected one id a "
            "line."
        )
    return [source[i] for i in sorted(line_of)]
