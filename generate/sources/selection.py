"""Select some of the samples of a source, by number, id, class or group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from ...arguments import as_list
from ...canonical import canonical_sha256
from ...corruptions.keys import MAX_SEED
from ...errors import SourceError, first_few, format_list, suggest
from ...files import read_text, reason
from ...manifests.records.models import ClassRecord
from .labels import nfc
from .source import Sample
from .super_categories import read_super_categories

MAX_IDS_BYTES = 512 * 2**20
FIELD = "group="
T = TypeVar("T")


@dataclass(frozen=True)
class HoldOut:
    """The groups that are held out of training. The field `train` selects the samples of all other groups instead."""

    groups: tuple[str, ...]
    """Names or shell patterns."""
    train: bool = False
    """True to select the samples of all other groups, for training."""
    lenient: bool = False
    """True if patterns without a match are allowed. Patterns in recipes are written for several sources."""

    def matched(self, samples: Sequence[Sample]) -> list[str]:
        """Return the groups that are held out, sorted.

        Raises
        ------
        SourceError
            The samples have no groups, a pattern matches no group, or all groups would be held out.
        """
        counts = Counter(s.group for s in samples if s.group is not None)
        if not counts:
            raise SourceError(
                "The source has no groups, so none can be held out. Give every image a group with --groups CSV "
                "(columns file,group), or use a source that has groups (icons50:PATH)."
            )
        meant = self._matches(samples)
        held = sorted(set().union(*meant.values()))
        unmatched = [pattern for pattern, groups in meant.items() if not groups]
        if unmatched and not (self.lenient and held):
            lines = [f"the source has no group {pattern!r}.{suggest(pattern, counts)}" for pattern in unmatched]
            known = first_few([f"{group} ({count})" for group, count in sorted(counts.items())], 20)
            raise SourceError(
                f"Groups to hold out (--hold-out, or the recipe's) do not exist:\n{format_list(lines)}\nGroups of the "
                f"source, with their numbers of images: {known}."
            )
        if len(held) == len(counts):
            raise SourceError(
                f"All {len(counts)} groups of the source would be held out, so none remains for training. Hold out "
                "fewer groups."
            )
        return held

    def _matches(self, samples: Sequence[Sample]) -> dict[str, set[str]]:
        """Return the groups that each pattern matches. A pattern that is a group's name matches only this group."""
        groups = {s.group for s in samples if s.group is not None}
        return {p: {p} & groups or {g for g in groups if fnmatchcase(g, p)} for p in self.groups}

    def notes(self, samples: Sequence[Sample]) -> list[str]:
        """Return notes for users about patterns of a recipe that match no group of the source."""
        unmatched = [pattern for pattern, groups in self._matches(samples).items() if not groups]
        limit = f"{len(unmatched)} of the {len(self.groups)} groups to hold out are not in the source"
        return [f"{limit}: {first_few(unmatched)}"] if unmatched else []

    def record(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return the record of the hold-out in the manifest: the groups, and the part that was selected."""
        return {"groups": self.matched(samples), "part": "train" if self.train else "test"}


def recorded_hold_out(record: object) -> HoldOut | None:
    """Return the hold-out that a manifest records for its selection, or None."""
    match record:
        case {"groups": [_, *_] as groups, "part": "test" | "train" as part} if all(isinstance(g, str) for g in groups):
            return HoldOut(tuple(groups), part == "train")
    return None


def held_groups(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the group names in one or more strings of the form ``group=NAME``.

    Examples
    --------
    >>> held_groups("group=microsoft"), held_groups(["group=a", "group=b*"])
    (('microsoft',), ('a', 'b*'))
    """
    return tuple(dict.fromkeys(entry.removeprefix(FIELD) for entry in as_list(given)))


def hold_out_problem(given: object) -> str | None:
    """Return a message unless a value is ``group=NAME`` or a list of such strings."""
    entries = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if entries and all(isinstance(e, str) and e.startswith(FIELD) and e != FIELD for e in entries):
        return None
    return f"hold_out is {given!r}; expected {FIELD}NAME, as in {FIELD}microsoft, once for each group"


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
    notes: list[str] | None = None,
) -> list[Sample]:
    """Return the selected samples, in the order of the source.

    If several options are given, they are applied in this order, each to the result of the previous one: ids, hold-out,
    first, per super-category, per class, samples.

    Parameters
    ----------
    source : sequence of Sample
        All samples of a source.
    samples : int, optional
        Select this many evenly spaced samples. Number i is the sample at ``(i * total) // samples``.
    first : int, optional
        Select the first `first` samples.
    per_class : int, optional
        Select the first `per_class` samples of every class.
    ids : path or sequence of str, optional
        Select these samples. The value is a list of ids, or a text file. Each line of the file is an id or the path of
        a sample in the source.
    hold_out : HoldOut, optional
        Select the samples of the held-out groups, or of all other groups.
    per_super_category : path or str, optional
        Select the first samples of every super-category in this file (`read_super_categories`). Samples of classes
        without a super-category are not selected.
    classes : sequence of ClassRecord
        The classes of the source. They are needed for super-categories.
    notes : list of str, optional
        Receives a sentence for each number that is larger than the number of samples to select from.

    Raises
    ------
    SourceError
        A number is below 1, an id does not exist or is given twice, or a group does not exist.

    Examples
    --------
    >>> [s.index for s in select([Sample(i, str(i), i % 2) for i in range(10)], samples=4)]
    [0, 2, 5, 7]
    >>> [s.index for s in select([Sample(i, str(i), i % 2) for i in range(10)], per_class=2)]
    [0, 1, 2, 3]
    """
    for option, value in (("--samples", samples), ("--first", first), ("--per-class", per_class)):
        if value is not None and (type(value) is not int or not 1 <= value <= MAX_SEED):
            raise SourceError(
                f"{option} is {value!r}; expected a whole number of images, at least 1 and at most {MAX_SEED}."
            )
    chosen = list(source) if ids is None else _select_ids(source, ids)
    if hold_out is not None:
        held = set(hold_out.matched(source))
        chosen = [s for s in chosen if (s.group in held) != hold_out.train]
    messages: list[str] = [] if notes is None else notes
    if first is not None:
        messages += _too_few("--first", first, len(chosen))
        chosen = chosen[:first]
    if per_super_category is not None:
        categories = read_super_categories(per_super_category)
        category_of = categories.by_label(classes)
        chosen = [s for s in chosen if s.label in category_of]
        chosen = _first_of_each(chosen, lambda s: category_of[s.class_index], categories.images)
    if per_class is not None:
        small = [count for count in Counter(s.label for s in chosen).values() if count < per_class]
        if small:
            messages.append(
                f"--per-class is {per_class:,}, but {len(small):,} of the classes have fewer images (the smallest has "
                f"{min(small):,}). All images of these classes are used."
            )
        chosen = _first_of_each(chosen, lambda s: s.class_index, per_class)
    if samples is not None:
        messages += _too_few("--samples", samples, len(chosen))
    return spread(chosen, samples)


def spread(items: Sequence[T], limit: int | None) -> list[T]:
    """Return at most `limit` evenly spaced items, or all items if `limit` is None."""
    count = len(items) if limit is None else min(limit, len(items))
    return [items[(i * len(items)) // count] for i in range(count)]


def _too_few(option: str, wanted: int, count: int) -> list[str]:
    """Return a note if there are fewer images than an option asks for."""
    return [f"{option} is {wanted:,}, but there are only {count:,} images, so all of them are used."] * (wanted > count)


def _first_of_each(samples: Sequence[Sample], group: Callable[[Sample], Hashable], count: int) -> list[Sample]:
    seen: Counter[Hashable] = Counter()
    kept = []
    for sample in samples:
        seen[group(sample)] += 1
        if seen[group(sample)] <= count:
            kept.append(sample)
    return kept


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
    """Return the record of the selection in the manifest: the options, the total and the number of selected samples.

    If samples were selected by id, the record contains the number of ids, and the sha256 of their canonical JSON in the
    order of the source. The path of the file that lists the ids is not recorded. Super-categories, the pattern of
    images, the kind of groups and the hold-out are recorded only if they were given. `numbers` are the other options of
    `select`.
    """
    given = [] if ids is None else [sample.id for sample in _select_ids(source, ids)]
    splits = {sample.split for sample in source if sample.split is not None}
    optional = {
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
        **{key: value for key, value in optional.items() if value is not None},
    }


def _select_ids(source: Sequence[Sample], ids: str | Path | Sequence[str]) -> list[Sample]:
    """Return the samples with these ids, in the order of the source."""
    where = "The list of ids"
    if isinstance(ids, str | Path):
        where = f"The list of ids {ids}"
        try:
            ids = read_text(Path(ids).expanduser(), MAX_IDS_BYTES).split("\n")
        except OSError as e:
            raise SourceError(
                f"{where} cannot be read: {reason(e)}. Expected a text file with one id per line."
            ) from None
    number_of = {nfc(s.path or s.id): i for i, s in enumerate(source)}
    number_of |= {nfc(s.id): i for i, s in enumerate(source)}
    problems: list[str] = []
    line_of: dict[int, int] = {}
    for line, name in enumerate(map(str.strip, ids), 1):
        if not name:
            continue
        number = number_of.get(nfc(name))
        if number is None and "/" not in name:
            number = number_of.get(nfc(name.rpartition(".")[0]))
        if number is None:
            near = suggest(name, [s.id for s in source]) if len(problems) < 3 and len(source) < 5000 else ""
            problems.append(f"line {line}: there is no sample {name!r} in the source.{near}")
        elif line_of.setdefault(number, line) != line:
            problems.append(f"line {line}: {name!r} is also on line {line_of[number]}")
    if not line_of:
        problems = problems or ["it names no sample"]
    if problems:
        raise SourceError(
            f"{where} contains {len(problems)} error{'s' * (len(problems) > 1)}:\n{format_list(problems)}\n"
            "Expected one id per line."
        )
    return [source[i] for i in sorted(line_of)]
