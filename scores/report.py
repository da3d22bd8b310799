"""`report`: models side by side on one data set, as one HTML file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ..errors import ParameterError, suggest
from ..manifests.disk.atomic import write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.reader import DataSet
from ..pages.charts import legend_mark
from ..pages.document import render
from ..pages.drawing import MARKERS
from ..pages.jpeg import Pixels
from ..progress import progress_function, shows_progress
from .comparison.entries import Entry
from .comparison.statistics import differences
from .outcomes import CLEAN, Predictions
from .records import Scores
from .results_page.inputs import GivenPredictions, checked_inputs
from .results_page.pictures import (
    WRAPPER,
    Failures,
    PicturePlace,
    StoredPicture,
    empty,
    encoded,
    panel_rows,
    read_picture,
)
from .results_page.sections import sections
from .scores_file import scores_bytes
from .tables import MOST_CELLS, Table, columns

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
    """The headings of those that the scores had something for; what the page says beside them is not listed."""
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
        There is no sample `sample`; `out` lies in a data set, or does not end in .html.
    IncompleteBuild, VerificationError
        The data set is not finished, or damaged.

    Notes
    -----
    The same data set, scores and predictions give the same bytes, with the same release of corruptset and Pillow.
    """
    file, tell = result_path(out, is_page=True), progress_function(progress)
    data = directory if isinstance(directory, DataSet) else DataSet(directory)
    entries, predicted = checked_inputs(data, scores, predictions, tell)
    found, unpaired = differences(entries)
    failures = Failures({label: one for label, one in predicted.items() if CLEAN in one.outcomes}, data)
    failed_sets, has_clean = failures.shown(data), CLEAN in data
    index = int(np.argmax(failures.right_when_clean())) if sample is None else _index_of(data, sample)
    panels = panel_rows(entries, data, index)
    places = [picture.place for row in panels.values() for panel in row for picture in panel.pictures if picture.place]
    for failed in chain.from_iterable(failed_sets.values()):
        places += [PicturePlace(CLEAN, failed.place.sample)] * has_clean + [failed.place]
    images = dict[PicturePlace, Pixels]()
    for number, place in enumerate(places, 1):
        if place not in images:
            images[place] = read_picture(data, place)
        tell("reading pictures", number, len(places))

    def page(pictures: Mapping[PicturePlace, StoredPicture]) -> bytes:
        return render(
            "report.html",
            f"{__package__}.results_page",
            m=data.manifest,
            title=data.manifest.recipe.get("title") or "",
            models=[e.label for e in entries],
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
        words = len(page(empty(images)))
        if words <= WORDS:
            break
    written = page(encoded(images, MOST_BYTES - words - WRAPPER * len(images)))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, written)
    headings = tuple(section.heading for section in shown)
    return Report(file, tuple(e.label for e in entries), data.digest, headings, len(images), len(written))


def _index_of(data: DataSet, sample: str) -> int:
    places = {s.id: s.index for s in data.samples}
    if sample not in places:
        raise ParameterError(
            f"{data.path} has no sample {sample!r}.{suggest(sample, places)} samples.jsonl lists them."
        )
    return places[sample]


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
    heads = [*columns("text", "model"), *columns("whole", "images"), *columns("text", "which images count")]
    heads += columns("text", "baseline of CE") + columns("whole", "resamples", "seed", "sets")
    rows = []
    for e in entries:
        s, r = e.scores, e.scores.resamples
        drawn = [None, None] if r is None else [max(map(len, r.values.values()), default=0), r.seed]
        sha256 = hashlib.sha256(scores_bytes(s)).hexdigest()
        rows.append([e.label, s.samples, s.condition or "all", s.baseline or "none", *drawn, len(s.sets), sha256])
    return Table("made", "The scores of each model", [*heads, *columns("text", "scores file, sha256")], rows)
