"""`report`: models side by side on one data set, as one HTML file with figures, tables and pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ParameterError, suggest
from ..manifests.disk.atomic import write_atomic
from ..manifests.reader import DataSet
from ..manifests.reader import open as open_data_set
from ..pages.document import render
from ..progress import shows_progress, told
from .comparison.differences import differences
from .comparison.entries import Entry
from .comparison.tables import Column, Table
from .outcomes import CLEAN, Predictions
from .records import Scores
from .results_page import failures as failed
from .results_page import panels
from .results_page.charts import look, marker
from .results_page.inputs import GivenPredictions, checked_inputs
from .results_page.page_pictures import WRAPPER, Pictures
from .results_page.page_tables import MOST_CELLS, page_table
from .results_page.sections import sections
from .scores_file import scores_bytes

MOST_BYTES = 3_000_000
"""Of a page, where its words leave room for pictures."""
WORDS = 1_800_000
"""Bytes of a page without its pictures; tables are cut until they fit."""
CUTS = (MOST_CELLS, 8_000, 3_000, 1_000)
"""Cells of a table at most, from the longest tables on."""


@dataclass(frozen=True)
class Report:
    """A page of results."""

    file: Path
    models: tuple[str, ...]
    """What they are called in it, in the order given."""
    digest: str
    """Of the data set."""
    sections: tuple[str, ...]
    """Their headings, of those that the scores had something for."""
    pictures: int
    bytes: int


@shows_progress("report")
def report(
    directory: str | Path | DataSet,
    scores: Sequence[str | Path | Scores],
    out: str | Path,
    *,
    predictions: GivenPredictions = (),
    sample: str | None = None,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Report:
    """Write a page of results: models side by side on one data set.

    Parameters
    ----------
    directory : str, Path or DataSet
        The data set that the scores are of: pictures come from it.
    scores : sequence of path or Scores
        Scores files (or the folders that hold one), or what `corruptset.score` returned; one model each.
    out : path
        The HTML file, which is replaced where it is there. It stands alone: nothing is fetched, and it can be read without a script.
    predictions : sequence of path or Predictions, or mapping of str to them
        Of some of the models, by which the page shows the images that flip. A mapping names the models, and so does a str
        ``NAME=PATH``; else the predictions do.
    sample : str, optional
        The id of the sample that stands under every degradation; by default the first that all models whose predictions are known have
        right when it is clean, or the first.
    progress : callable or bool, optional
        Told (phase, done, total). By default a bar is shown in a terminal and in a notebook; False shows none.

    Returns
    -------
    Report

    Raises
    ------
    ScoreError
        Lists every file that is no scores file, scores of another data set, models that are there twice, and predictions that are not
        those of a model.
    ParameterError
        There is no sample `sample`.
    IncompleteBuild, VerificationError
        The data set is not finished, or damaged.

    Notes
    -----
    The same data set, scores and predictions give the same bytes, with the same release of corruptset and Pillow.
    """
    tell = told(progress)
    data = directory if isinstance(directory, DataSet) else open_data_set(directory)
    entries, predicted = checked_inputs(data, scores, predictions, tell)
    page = _Page(data, entries, predicted, sample)
    page.read_pictures(tell)
    written = page.html()
    file = Path(out)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, written)
    headings = tuple(section.heading for section in page.sections)
    return Report(file, tuple(e.label for e in entries), data.digest, headings, len(page.pictures), len(written))


class _Page:
    """What the page shows."""

    def __init__(self, data: DataSet, entries: Sequence[Entry], predicted: Mapping[str, Predictions], sample: str | None) -> None:
        self._data = data
        self._entries = entries
        self._differences = differences(entries)
        self.sections = sections(entries, self._differences[0], MOST_CELLS)
        with_clean = {label: one for label, one in predicted.items() if CLEAN in one.outcomes}
        self._failures = failed.Failures(with_clean, data.samples, data.classes) if with_clean else None
        self._failed_sets = [] if self._failures is None else self._failures.shown(data)
        self._without_clean = [label for label in predicted if label not in with_clean]
        self._index = self._sample(sample)
        self._panels = panels.panel_rows(entries, [s for s in data.manifest.sets if s.id in data], self._index)
        self.pictures = Pictures(data)

    def read_pictures(self, tell: Callable[[str, int, int], None]) -> None:
        """Read every image that the page shows."""
        places = [*panels.places(self._panels), *failed.places(self._failed_sets, CLEAN in self._data)]
        for number, place in enumerate(places, 1):
            self.pictures.add(place)
            tell("reading pictures", number, len(places))

    def html(self) -> bytes:
        """Return the page, with pictures as good as it has room for."""
        for cells in CUTS:
            self.sections = sections(self._entries, self._differences[0], cells)
            words = len(self._render(self.pictures.empty(), cells))
            if words <= WORDS:
                break
        room = MOST_BYTES - words - WRAPPER * len(self.pictures)
        return self._render(self.pictures.encoded(room), cells)

    def _sample(self, wanted: str | None) -> int:
        """Return the index of the sample of the panels."""
        if wanted is not None:
            places = {s.id: s.index for s in self._data.samples}
            if wanted not in places:
                raise ParameterError(f"{self._data.path} has no sample {wanted!r}.{suggest(wanted, places)} samples.jsonl lists them.")
            return places[wanted]
        right = None if self._failures is None else self._failures.right_when_clean()
        return int(np.argmax(right)) if right is not None else 0

    def _render(self, pictures: Mapping[Any, Any], cells: int) -> bytes:
        manifest = self._data.manifest
        return render(
            "report.html",
            f"{__package__}.results_page",
            m=manifest,
            title=manifest.recipe.get("title") or "",
            models=[e.label for e in self._entries],
            look=look,
            marker=marker,
            sections=self.sections,
            panel_rows=self._panels,
            sample=self._data.samples[self._index],
            pictures=pictures,
            failures=None if self._failures is None else page_table(self._failures.table(), cells),
            failed_sets=self._failed_sets,
            failure_notes=self._failure_notes(),
            has_clean=CLEAN in self._data,
            clean_id=CLEAN,
            notes=self._notes(),
            made=page_table(self._made(), cells),
        )

    def _failure_notes(self) -> list[str]:
        notes = [
            f"The predictions of {label} have no clean images, without which nobody knows which images flip."
            for label in self._without_clean
        ]
        missing = [e.label for e in self._entries if self._failures is None or e.label not in self._failures.labels]
        missing = [label for label in missing if label not in self._without_clean]
        if missing:
            notes.append(
                f"Scores files do not say which images a model has right, so that nothing is shown here of {', '.join(missing)}: give "
                "corruptset report the predictions too, --predictions PATH (or NAME=PATH) for each model."
            )
        return notes

    def _notes(self) -> list[tuple[str, Sequence[str]]]:
        """Return the notes of each model, those that all have once."""
        shared = [note for note in self._entries[0].scores.notes if all(note in e.scores.notes for e in self._entries)]
        own = [(e.label, [note for note in e.scores.notes if note not in shared]) for e in self._entries]
        groups = [("All models", [*shared, *self._differences[1]]), *own]
        return [(heading, lines) for heading, lines in groups if lines]

    def _made(self) -> Table:
        """Return how each model's scores came about."""
        columns = [
            Column("model", "text"),
            Column("images", "whole"),
            Column("which images count", "text"),
            Column("baseline of CE", "text"),
        ]
        columns += [Column("resamples", "whole"), Column("seed", "whole"), Column("sets", "whole"), Column("scores file, sha256", "text")]
        rows = [
            [
                e.label,
                e.scores.samples,
                e.scores.condition or "all",
                e.scores.baseline or "none",
                *((None, None) if (r := e.scores.resamples) is None else (max(map(len, r.values.values()), default=0), r.seed)),
                len(e.scores.sets),
                hashlib.sha256(scores_bytes(e.scores)).hexdigest(),
            ]
            for e in self._entries
        ]
        return Table("made", "The scores of each model", columns, rows)
