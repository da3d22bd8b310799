"""Write a results page, a single HTML file that compares models on one dataset."""

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
from ..manifests.reader import Dataset
from ..pages.document import render
from ..pages.svg import MARKERS, legend_mark
from ..progress import progress_function, shows_progress
from .comparison.entries import Entry
from .comparison.statistics import differences
from .outcomes import CLEAN, Predictions
from .records import Scores
from .results_page.example_images import Failures, ImagePlace, stored_images, threshold_panels
from .results_page.inputs import GivenPredictions, checked_inputs
from .results_page.sections import sections
from .scores_file import scores_bytes
from .tables import Table, columns

MAX_CELLS = 10_000
"""The maximum number of cells in a table on the page."""
IMAGE_BYTES = 1_200_000
"""The approximate number of bytes that all images on the page may have together."""


@dataclass(frozen=True)
class Report:
    """A results page that was written.

    Attributes
    ----------
    file : Path
    models : tuple of str
        The labels of the models, in the given order.
    digest : str
        The digest of the dataset.
    sections : tuple of str
        The headings of the sections with scores.
    images, bytes : int
        The number of images on the page, and the size of the file.
    """

    file: Path
    models: tuple[str, ...]
    digest: str
    sections: tuple[str, ...]
    images: int
    bytes: int


@shows_progress("report")
def report(
    directory: str | Path | Dataset,
    scores: Sequence[str | Path | Scores],
    out: str | Path,
    *,
    predictions: GivenPredictions = (),
    sample: str | None = None,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Report:
    """Write a results page, a single HTML file that compares models on one dataset.

    Parameters
    ----------
    directory : str, Path or Dataset
        The dataset that the scores belong to. The page shows some of its images.
    scores : sequence of path or Scores
        Scores files, folders that contain them, or results of `corruptset.score`, one per model.
    out : path
        The HTML file, which is overwritten if it exists. It works offline and without JavaScript.
    predictions : sequence of path or Predictions, or mapping of str to them
        The predictions of some of the models. The page shows failures only for these models. The model is named by the
        key of the mapping, by ``NAME=PATH``, or in the predictions. Predictions in the folder of a scores file are
        found automatically.
    sample : str, optional
        The id of the sample that is shown under every degradation. By default, it is the first sample whose clean image
        is classified correctly by all models with predictions. If there is no such sample, it is the first sample.
    progress : callable or bool, optional
        A function that is called with (phase, items done, total number of items). By default, a progress bar is shown
        in terminals and notebooks. False disables it.

    Returns
    -------
    Report

    Raises
    ------
    ScoreError
        If scores files cannot be read, belong to different datasets or repeat a model, or if predictions do not belong
        to the scores. The message lists all problems.
    ParameterError
        If `sample` does not exist, or if `out` is inside a dataset or does not end in .html.
    IncompleteBuild, VerificationError
        If the dataset is unfinished or damaged.

    Notes
    -----
    Equal inputs give an identical file, provided that the releases of corruptset and Pillow are the same.
    """
    file, tell = result_path(out, is_page=True), progress_function(progress)
    data = directory if isinstance(directory, Dataset) else Dataset(directory)
    entries, predicted = checked_inputs(data, scores, predictions, tell)
    found, unpaired = differences(entries)
    failures = Failures({label: one for label, one in predicted.items() if CLEAN in one.outcomes}, data)
    failed_sets, has_clean = failures.examples(data), CLEAN in data
    index = int(np.argmax(failures.correct_when_clean())) if sample is None else _index_of(data, sample)
    panels = threshold_panels(entries, data, index)
    places = [image.place for row in panels.values() for panel in row for image in panel.images if image.place]
    for failed in chain.from_iterable(failed_sets.values()):
        places += [ImagePlace(CLEAN, failed.place.sample)] * has_clean + [failed.place]
    tell("reading images", 0, len(places))
    images = stored_images(data, places, IMAGE_BYTES)
    tell("reading images", len(places), len(places))
    shown = sections(entries, found, MAX_CELLS)
    page = render(
        "report.html",
        f"{__package__}.results_page",
        m=data.manifest,
        title=data.manifest.recipe.get("title") or "",
        models=[e.label for e in entries],
        legend_mark=legend_mark,
        markers=MARKERS,
        sections=shown,
        panels_by_threshold=panels,
        sample=data.samples[index],
        images=images,
        failures=failures.table().on_page(MAX_CELLS) if failures.labels else None,
        failed_sets=failed_sets,
        failure_notes=_failure_notes(entries, failures, predicted),
        has_clean=has_clean,
        clean_id=CLEAN,
        notes=_notes(entries, unpaired),
        made=_conditions_table(entries).on_page(MAX_CELLS),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, page)
    headings = tuple(section.heading for section in shown)
    return Report(file, tuple(e.label for e in entries), data.digest, headings, len(images), len(page))


def _index_of(data: Dataset, sample: str) -> int:
    places = {s.id: s.index for s in data.samples}
    if sample not in places:
        raise ParameterError(
            f"{data.path} has no sample {sample!r}.{suggest(sample, places)} samples.jsonl lists them."
        )
    return places[sample]


def _failure_notes(entries: Sequence[Entry], failures: Failures, predicted: Mapping[str, Predictions]) -> list[str]:
    notes = [
        f"The predictions of {label} have no clean images, so its failures are unknown."
        for label in predicted
        if label not in failures.labels
    ]
    if missing := [e.label for e in entries if e.label not in predicted]:
        notes.append(
            f"The failures of {', '.join(missing)} are not shown, because scores files do not contain predictions. To "
            "show them, pass --predictions PATH (or NAME=PATH) for each model to corruptset report."
        )
    return notes


def _notes(entries: Sequence[Entry], unpaired: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the notes of each model, and the notes that all models share."""
    shared = [note for note in entries[0].scores.notes if all(note in e.scores.notes for e in entries)]
    own = [(e.label, [note for note in e.scores.notes if note not in shared]) for e in entries]
    return [(heading, lines) for heading, lines in [("All models", [*shared, *unpaired]), *own] if lines]


def _conditions_table(entries: Sequence[Entry]) -> Table:
    """Return a table of the conditions under which the scores were computed."""
    heads = [*columns("text", "model"), *columns("whole", "images"), *columns("text", "which images count")]
    heads += columns("text", "baseline of CE") + columns("whole", "resamples", "seed", "sets")
    rows = []
    for e in entries:
        s, r = e.scores, e.scores.resamples
        drawn = [None, None] if r is None else [max(map(len, r.values.values()), default=0), r.seed]
        sha256 = hashlib.sha256(scores_bytes(s)).hexdigest()
        rows.append([e.label, s.samples, s.condition or "all", s.baseline or "none", *drawn, len(s.sets), sha256])
    return Table("made", "The scores of each model", [*heads, *columns("text", "scores file, sha256")], rows)
