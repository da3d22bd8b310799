"""The report of a verification: its problems, and what was checked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from ...errors import IncompleteBuild, VerificationError, first_few, listed
from .foreign_names import form_advice, renamed_forms

Level = Literal["structure", "sizes", "hashes", "pixels"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""The steps of the ladder that `verify` climbs."""
Progress = Callable[[str, int, int], None]
"""Called with the step, what is done of it and the total."""

SYSTEM_FILE = "system file"
"""Kind of what is found but is no problem: the report lists it apart."""


def printable(path: str) -> str:
    """Return a path as text for any terminal or JSON file, other characters as escapes."""
    if path.isprintable():
        return path
    try:
        text = os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a character that needs two, which a JSON file may hold
        text = path
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong.

    Its path and detail may come from a stranger's file; they are made `printable`.

    Attributes
    ----------
    path : str
        Relative to the data set; of a shard row ``<shard>#<row>``; ``.`` for the directory itself.
    kind : str
        ``incomplete`` (no manifest.json: the build has not finished), ``schema`` (a file's text), ``records`` (they
        contradict each other), ``symlink``, ``special``, ``missing``, ``unexpected``, ``unreadable``, ``size``,
        ``hash``, ``decode``, ``shape``, ``pixels``, ``digest`` (it does not follow from what it is of), ``unicode``
        (names are in another Unicode form), ``rederive`` (made again it is different), ``unmended`` (not repaired).
    detail : str
        What is there and what was expected.
    """

    path: str
    kind: str
    detail: str

    def __post_init__(self) -> None:
        for name in ("path", "detail"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: {self.detail}"


@dataclass
class VerificationReport:
    """Everything that is wrong with a data set.

    Attributes
    ----------
    directory : str
    level : str
        The highest step of the ladder that was climbed.
    digest : str or None
        The build's digest as its manifest states it.
    problems : list of Problem
        Sorted by path.
    absent : list of str
        Sets that were not checked: PARTIAL.json says that they are in archives which were not unpacked.
    partial : bool
        Whether this is a part of a data set.
    checked : dict
        How much was checked: sets, samples, images (image entries), files, bytes (of the files that were read, each
        once), rederived.
    notes : list of str
        What is no problem and should be known.
    mended : list of str or None
        The files that a repair made again; None where no repair was asked for.
    containers : tuple of str
        ``folder``, ``hdf5``; where there are both, an image is checked and counted in each.
    system_files : list of str
        Files that macOS or Windows left in the folders, such as ``.DS_Store``. They are not part of the dataset and no
        problem.
    """

    directory: str
    level: str
    digest: str | None = None
    problems: list[Problem] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    partial: bool = False
    checked: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("sets", "samples", "files", "images", "bytes", "rederived"), 0)
    )
    notes: list[str] = field(default_factory=list)
    mended: list[str] | None = None
    containers: tuple[str, ...] = ()
    system_files: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def add(self, problems: Iterable[Problem], checked: Counter[str] | None = None) -> None:
        """Add the problems of one step, and what it checked."""
        for problem in problems:
            if problem.kind == SYSTEM_FILE:
                self.system_files.append(problem.path)
            else:
                self.problems.append(problem)
        for key, value in (checked or {}).items():
            self.checked[key] = self.checked.get(key, 0) + value

    def finish(self) -> None:
        """Sort the problems, say in one sentence which names are in another Unicode form, and note system files."""
        of_kind = {kind: [p.path for p in self.problems if p.kind == kind] for kind in ("missing", "unexpected")}
        renamed = renamed_forms(of_kind["missing"], of_kind["unexpected"])
        if renamed:
            names = {*renamed, *renamed.values()}
            self.problems = [p for p in self.problems if p.path not in names or p.kind not in of_kind]
            recorded = min(renamed)
            detail = (
                f"{len(renamed):,} files are there under names in another Unicode form than the records have, such as "
                f"{recorded}. {form_advice(recorded)}"
            )
            self.problems.append(Problem(".", "unicode", detail))
        self.problems = sorted(set(self.problems))
        self.system_files = sorted(set(self.system_files))
        if self.system_files:
            self.notes.append(
                f"Files that macOS or Windows left in the folders: {len(self.system_files):,} "
                f"({first_few(self.system_files, 3)}). They are not part of the dataset and can be deleted."
            )

    def by_kind(self) -> dict[str, int]:
        """Return how many problems there are of each kind."""
        return dict(sorted(Counter(p.kind for p in self.problems).items()))

    def raise_for_problems(self) -> None:
        """Raise if anything is wrong.

        Raises
        ------
        IncompleteBuild
            The build has not finished.
        VerificationError
            Lists the problems (the first 50; the report has all).
        """
        if self.ok:
            return
        kinds = {p.kind for p in self.problems}
        if kinds == {"incomplete"}:
            raise IncompleteBuild(self.problems[0].detail)
        counts = ", ".join(f"{n} {kind}" for kind, n in self.by_kind().items())
        raise VerificationError(
            f"{self.directory} is not what its manifest says ({counts}):\n{listed([str(p) for p in self.problems])}\n"
            "Fetch or build the named files again, and verify again."
        )

    def __repr__(self) -> str:
        checked = ", ".join(f"{count:,} {what}" for what, count in self.checked.items() if count) or "nothing"
        state = "ok" if self.ok else f"{len(self.problems):,} problems"
        found = f"\n{listed([str(p) for p in self.problems], 3)}" * (not self.ok)
        return f"<VerificationReport of {self.directory} up to {self.level}: {state}; checked {checked}{found}>"

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        report = {key: value for key, value in asdict(self).items() if key != "mended" or value is not None}
        return {**report, "ok": self.ok, "kinds": self.by_kind()}
