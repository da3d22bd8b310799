"""The report of a verification, with the problems and the numbers of checked files and images."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from ...errors import IncompleteBuild, VerificationError, first_few, format_list
from .foreign_names import unicode_advice, unicode_variants

VerifyLevel = Literal["structure", "sizes", "hashes", "pixels"]
VERIFY_LEVELS: tuple[VerifyLevel, ...] = get_args(VerifyLevel)
"""The levels of `verify`. Each level includes the checks of all earlier levels."""
ProgressCallback = Callable[[str, int, int], None]
"""Callback that takes the name of a step, the amount of completed work, and the total."""

SYSTEM_FILE_KIND = "system file"
"""The kind of files that an operating system created. The report lists them separately from problems."""


def printable(path: str) -> str:
    """Return a path as text that any terminal or JSON file can contain, with unprintable characters escaped."""
    if path.isprintable():
        return path
    try:
        text = os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # an unpaired surrogate, which a JSON file may contain
        text = path
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, order=True)
class Problem:
    """One difference between a dataset and its records.

    The path and the detail may come from untrusted files, so they are made `printable`.

    Attributes
    ----------
    path : str
        Path relative to the dataset, ``<shard>#<row>`` for a row of a shard, or ``.`` for the directory.
    kind : str
        ``incomplete`` (there is no manifest.json, because the build has not finished), ``schema`` (the text of a file
        is invalid), ``records`` (two records contradict each other), ``symlink``, ``special``, ``missing``,
        ``unexpected``, ``unreadable``, ``size``, ``hash``, ``decode``, ``shape``, ``pixels``, ``digest`` (a digest does
        not match the recomputed one), ``unicode`` (names have a different Unicode form), ``rederive`` (the regenerated
        image differs) or ``unmended`` (the file was not repaired).
    detail : str
        Description of the problem, usually with the actual and the expected value.
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
    """The result of a verification.

    Attributes
    ----------
    directory : str
        The directory of the dataset.
    level : str
        The level of the verification.
    digest : str or None
        The digest of the dataset according to its manifest, or None if the manifest cannot be read.
    problems : list of Problem
        The problems, sorted by path.
    absent : list of str
        Ids of the sets that were not checked, because their archives were not unpacked (see PARTIAL.json).
    partial : bool
        Whether the directory contains only a part of the dataset.
    checked : dict
        The numbers of checked sets, samples, files and images. Image files and rows of shards count as images. The
        number of bytes that were read and the number of regenerated samples (``rederived``) are also included.
    notes : list of str
        Notes for the user, which are not problems.
    mended : list of str or None
        The files that were repaired, or None if no repair was requested.
    containers : tuple of str
        ``folder``, ``hdf5`` or both. With both, each image is stored, checked and counted twice.
    system_files : list of str
        Files that macOS or Windows created in the folders, such as ``.DS_Store``. They are not part of the dataset and
        not reported as problems.
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
        """Whether there are no problems."""
        return not self.problems

    def add(self, problems: Iterable[Problem], checked: Counter[str] | None = None) -> None:
        """Add the problems of a step, and the numbers of items that it checked."""
        for problem in problems:
            if problem.kind == SYSTEM_FILE_KIND:
                self.system_files.append(problem.path)
            else:
                self.problems.append(problem)
        for key, value in (checked or {}).items():
            self.checked[key] = self.checked.get(key, 0) + value

    def finish(self) -> None:
        """Sort the problems, merge those with names in a different Unicode form, and add a note on system files."""
        of_kind = {kind: [p.path for p in self.problems if p.kind == kind] for kind in ("missing", "unexpected")}
        renamed = unicode_variants(of_kind["missing"], of_kind["unexpected"])
        if renamed:
            names = {*renamed, *renamed.values()}
            self.problems = [p for p in self.problems if p.path not in names or p.kind not in of_kind]
            recorded = min(renamed)
            detail = (
                f"{len(renamed):,} files have names in a different Unicode form than the records, such as {recorded}. "
                f"{unicode_advice(recorded)}"
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
        """Return the number of problems of each kind."""
        return dict(sorted(Counter(p.kind for p in self.problems).items()))

    def raise_for_problems(self) -> None:
        """Raise an error if there are problems.

        Raises
        ------
        IncompleteBuild
            The build has not finished.
        VerificationError
            There are problems. The message lists the first 50.
        """
        if self.ok:
            return
        kinds = {p.kind for p in self.problems}
        if kinds == {"incomplete"}:
            raise IncompleteBuild(self.problems[0].detail)
        counts = ", ".join(f"{n} {kind}" for kind, n in self.by_kind().items())
        raise VerificationError(
            f"{self.directory} does not match its manifest ({counts}):\n"
            f"{format_list([str(p) for p in self.problems])}\n"
            "Fetch these files again, or restore them with `corruptset verify --repair`."
        )

    def __repr__(self) -> str:
        checked = ", ".join(f"{count:,} {what}" for what, count in self.checked.items() if count) or "nothing"
        state = "ok" if self.ok else f"{len(self.problems):,} problems"
        problems = f"\n{format_list([str(p) for p in self.problems], 3)}" * (not self.ok)
        return f"<VerificationReport of {self.directory} up to {self.level}: {state}; checked {checked}{problems}>"

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dictionary of JSON values."""
        report = {key: value for key, value in asdict(self).items() if key != "mended" or value is not None}
        return {**report, "ok": self.ok, "kinds": self.by_kind()}
