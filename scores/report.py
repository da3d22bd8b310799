"""`report`: models side by side on one data set, as one HTML file with figures, tables and pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ..errors import ParameterError, suggest
from ..manifests.disk.atomic import write_atomic
from ..manifests.reader import DataSet
from ..manifests.reader import open as open_data_set
from ..pages.charts import classes, legend_mark
from ..pages.document import render
from ..pages.drawing import MARKERS
from ..pages.jpeg import Pixels
from ..progress import progress_function, shows_progress
from .comparison.differences import differences
from .comparison.entries import Entry
from .outcomes import CLEAN, Predictions
from .records import Scores
from .results_page.failures import Failures
from .results_page.inputs import GivenPredictions, checked_inputs
from .results_page.page_pictures import WRAPPER, Place, StoredPicture, empty, encoded, read_picture
from .results_page.panels import panel_rows
from .results_page.sections import Section, sections
from .scores_file import scores_bytes
from .tables import MOST_CELLS, Column, Table

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
        The HTML file, which is replaced where it is there. It stands alone: nothing is fetched, and it can be read
        without a script.
    predictions : sequence of path or Predictions, or mapping of str to them
        Of some of the models, by which the page shows the images that flip. A mapping names the models, and so does a
        str ``NAME=PATH``; else the predictions do. Those that lie in the folder of a model's scores file are found
        without it.
    sample : str, optional
        The id of the sample that stands under every degradation; by default the first that all models whose predictions
        are known have right when it is clean, or the first.
    progress : callable or bool, optional
        Told (phase, done, total). By default a bar is shown in a terminal and in a notebook; False shows none.

    Returns
    -------
    Report

    Raises
    ------
    ScoreError
        Lists every file that is no scores file, scores of another data set, models that are there twice, and
        predictions that are not those of a model.
    ParameterError
        There is no sample `sample`.
    IncompleteBuild, VerificationError
        The data set is not finished, or damaged.

    Notes
    -----
    The same data set, scores and predictions give the same bytes, with the same release of corruptset and Pillow.
    """
    tell = progress_function(progress)
    data = directory if isinstance(directory, DataSet) else open_data_set(directory)
    entries, predicted = checked_inputs(data, scores, predictions, tell)
    found, unpaired = differences(entries)
    failures = Failures(
        {label: one for label, one in predicted.items() if CLEAN in one.outcomes}, data.samples, data.classes
    )
    failed_sets, has_clean = failures.shown(data), CLEAN in data
    index = _sample(data, sample, failures)
    panels = panel_rows(entries, [s for s in data.manifest.sets if s.id in data], index)
    images = dict[Place, Pixels]()
    pictured = [picture for row in panels.values() for panel in row for picture in panel.pictures]
    places = [picture.place for picture in pictured if picture.place is not None]
    for failed in chain.from_iterable(failed_sets.values()):
        places += [Place(CLEAN, failed.place.sample)] * has_clean + [failed.place]
    for number, place in enumerate(places, 1):
        if place not in images:
            images[place] = read_picture(data, place)
        tell("reading pictures", number, len(places))

    def page(shown: Sequence[Section], pictures: Mapping[Place, StoredPicture], cells: int) -> bytes:
        return render(
            "report.html",
            f"{__package__}.results_page",
            m=data.manifest,
            title=data.manifest.recipe.get("title") or "",
            models=[e.label for e in entries],
            classes=classes,
            looks=legend_mark,
            markers=MARKERS,
            sections=shown,
            panel_rows=panels,
            sample=data.samples[index],
            pictures=pictures,
            failures=failures.table().on_page(cells) if failures.labels else None,
            failed_sets=failed_sets,
            failure_notes=_failure_notes(entries, failures, predicted),
            has_clean=has_clean,
            clean_id=CLEAN,
            notes=_notes(entries, unpaired),
            made=_made(entries).on_page(cells),
        )

    for cells in CUTS:
        shown = sections(entries, found, cells)
        words = len(page(shown, empty(images), cells))
        if words <= WORDS:
            break
    room = MOST_BYTES - words - WRAPPER * len(images)
    written = page(shown, encoded(images, room), cells)
    file = Path(out)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, written)
    headings = tuple(section.heading for section in shown)
    return Report(file, tuple(e.label for e in entries), data.digest, headings, len(images), len(written))


def _sample(data: DataSet, wanted: str | None, failures: Failures) -> int:
    """Return the index of the sample of the panels."""
    if wanted is None:
        return int(np.argmax(failures.right_when_clean()))
    places = {s.id: s.index for s in data.samples}
    if wanted not in places:
        raise ParameterError(
            f"{data.path} has no sample {wanted!r}.{suggest(wanted, places)} samples.jsonl lists them."
        )
    return places[wanted]


def _failure_notes(entries: Sequence[Entry], failures: Failures, predicted: Mapping[str, Predictions]) -> list[str]:
    notes = [
        f"The predictions of {label} have no clean images, without which nobody knows which images flip."
        for label in predicted
        if label not in failures.labels
    ]
    if missing := [e.label for e in entries if e.label not in predicted]:
        notes.append(
            "Scores files do not say which images a model has right, so that nothing is shown here of "
            f"{', '.join(missing)}: give corruptset report the predictions too, --predictions PATH (or NAME=PATH) for "
            "each model."
        )
    return notes


def _notes(entries: Sequence[Entry], unpaired: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the notes of each model, those that all have once."""
    shared = [note for note in entries[0].scores.notes if all(note in e.scores.notes for e in entries)]
    own = [(e.label, [note for note in e.scores.notes if note not in shared]) for e in entries]
    return [(heading, lines) for heading, lines in [("All models", [*shared, *unpaired]), *own] if lines]


def _made(entries: Sequence[Entry]) -> Table:
    """Return how each model's scores came about."""
    columns = [Column("model", "text"), Column("images", "whole"), Column("which images count", "text")]
    columns += [Column("baseline of CE", "text"), *(Column(title, "whole") for title in ("resamples", "seed", "sets"))]
    rows = [
        [
            e.label,
            e.scores.samples,
            e.scores.condition or "all",
            e.scores.baseline or "none",
            *(
                (None, None)
                if (r := e.scores.resamples) is None
                else (max(map(len, r.values.values()), default=0), r.seed)
            ),
            len(e.scores.sets),
            hashlib.sha256(scores_bytes(e.scores)).hexdigest(),
        ]
        for e in entries
    ]
    return Table("made", "The scores of each model", [*columns, Column("scores file, sha256", "text")], rows)
