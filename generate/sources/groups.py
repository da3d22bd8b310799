"""Groups of samples, such as styles of icons: given by a CSV, and held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ...errors import SourceError, first_few, listed, suggest
from .labels import read_column
from .naming import name_problem
from .source import Sample, Source

FIELD = "group="
MOST_SHOWN = 20


@dataclass(frozen=True)
class HoldOut:
    """Groups held out of training, and whether their samples or all others are taken."""

    groups: tuple[str, ...]
    """Names, or shell patterns."""
    train: bool = False
    """Whether the samples of all other groups are taken, which are those to train with."""
    lenient: bool = False
    """Whether a pattern may match no group: a recipe's, which knows no source."""

    def matched(self, samples: Sequence[Sample]) -> list[str]:
        """Return the groups that are held out, sorted.

        Raises
        ------
        SourceError
            The samples have no groups, a pattern matches none of them, or nothing is left to train with.
        """
        counts = Counter(s.group for s in samples if s.group is not None)
        if not counts:
            raise SourceError(
                "The source has no groups, so none can be held out. Give every image one with --groups CSV (columns "
                "file,group), or name a source that has them (icons50:PATH)."
            )
        unmatched = self.unmatched(samples)
        held = sorted(group for group in counts if any(_matches(group, pattern, counts) for pattern in self.groups))
        if unmatched and not (self.lenient and held):
            lines = [f"there is no group {pattern!r}.{suggest(pattern, counts)}" for pattern in unmatched]
            known = first_few([f"{group} ({count})" for group, count in sorted(counts.items())], MOST_SHOWN)
            raise SourceError(
                f"What is to be held out (--hold-out, or the recipe's):\n{listed(lines)}\nGroups, with their images: "
                f"{known}."
            )
        if len(held) == len(counts):
            raise SourceError(
                f"What is to be held out are all {len(counts)} groups of the source, and none is left to train with. "
                "Leave one out."
            )
        return held

    def unmatched(self, samples: Sequence[Sample]) -> list[str]:
        """Return the patterns that no group matches."""
        groups = {s.group for s in samples if s.group is not None}
        return [pattern for pattern in self.groups if not any(_matches(group, pattern, groups) for group in groups)]

    def notes(self, samples: Sequence[Sample]) -> list[str]:
        """Return notes for users: a recipe's patterns that match no group of the source."""
        unmatched = self.unmatched(samples)
        most = (
            f"{len(unmatched)} of the {len(self.groups)} groups to hold out are not in the source: "
            f"{first_few(unmatched)}"
        )
        return [most] if unmatched else []

    def record(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Return the manifest's record of a hold-out: the groups, and the side that was taken."""
        return {"groups": self.matched(samples), "part": "train" if self.train else "test"}


def _matches(group: str, pattern: str, groups: Container[str]) -> bool:
    """Whether a pattern means a group; one that is a group's name means just that."""
    return group == pattern if pattern in groups else fnmatchcase(group, pattern)


def recorded_hold_out(record: object) -> HoldOut | None:
    """Return the hold-out that a manifest's selection records; None where there is none."""
    match record:
        case {"groups": list(groups), "part": "test" | "train" as part} if groups and all(
            isinstance(g, str) for g in groups
        ):
            return HoldOut(tuple(groups), part == "train")
    return None


def held_groups(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the groups that ``group=NAME``, once or more, names.

    Examples
    --------
    >>> held_groups("group=microsoft"), held_groups(["group=a", "group=b*"])
    (('microsoft',), ('a', 'b*'))
    """
    return tuple(dict.fromkeys(entry.removeprefix(FIELD) for entry in ([given] if isinstance(given, str) else given)))


def hold_out_problem(given: object) -> str | None:
    """Return why something is no ``group=NAME``, and no list of them, or None."""
    entries = [given] if isinstance(given, str) else given
    if (
        isinstance(entries, Sequence)
        and entries
        and all(isinstance(e, str) and e.startswith(FIELD) and e != FIELD for e in entries)
    ):
        return None
    return f"hold_out is {given!r}; expected {FIELD}NAME, as in {FIELD}microsoft, once for each group"


def group_problem(name: str) -> str | None:
    """Return why a text cannot be a group's name, or None."""
    return (name_problem(name) or "").partition(":")[0] or None


def _group_problems(groups: Sequence[str]) -> list[str]:
    return [f"the group {group!r} {problem}" for group in groups if (problem := group_problem(group)) is not None]


def add_groups(source: Source, csv: Path) -> None:
    """Give a source's samples the groups of a CSV; images without one become notes.

    Raises
    ------
    SourceError
        Every mistake of the CSV at once, or no image has a group.
    """
    csv = csv.expanduser()
    paths = [str(s.path) for s in source.samples]
    group_of = read_column(
        csv, "group", [*paths, *(path for path, _ in source.notes)], _group_problems, "the group a name"
    )
    kept = [s for s in source.samples if s.path in group_of]
    if not kept:
        raise SourceError(f"The groups {csv} name no image of the source.")
    source.samples = tuple(replace(s, index=i, group=group_of[str(s.path)]) for i, s in enumerate(kept))
    reason = f"has no row in {csv.name}: add one, or leave the image out"
    source.notes = tuple(sorted([*source.notes, *((path, reason) for path in paths if path not in group_of)]))
    source.grouping = "csv"  # the file's path stands in no manifest
