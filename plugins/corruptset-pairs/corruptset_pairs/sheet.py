"""`pairs-sheet`: a page for a small study with people, and its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from corruptset.canonical import canonical_sha256
from corruptset.errors import StudyError
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.reader import DataSet
from corruptset.manifests.reader import open as open_data_set
from corruptset.pixels import pixel_digest
from corruptset.progress import progress_function, shows_progress
from corruptset.scores.records import Scores

from .answer_choices import answer_choices
from .pictures import STEPS, Draw, level_pictures, region_pairs
from .sheet_page import read_instructions, sheet_page
from .study_records import STUDY_VERSION, Change, StudyKey

SHOWN = 256
"""Pixels of the page that a picture is enlarged to, as far as whole numbers go: what fits beside the borders of a page
of 320.
"""


@dataclass(frozen=True)
class Sheet:
    """What `pairs_sheet` wrote."""

    page: Path
    key_file: Path
    key: StudyKey
    bytes: int
    """Of the page."""


@shows_progress("pairs-sheet")
def pairs_sheet(
    directory: str | Path | DataSet,
    out: str | Path = "pairs.html",
    *,
    n: int = 40,
    seed: int = 0,
    predictions: str | Path | None = None,
    scores: str | Path | Scores | None = None,
    sets: Sequence[str] | None = None,
    change: Literal["shift", "shrink", "both"] = "both",
    sizes: Sequence[str] | None = None,
    levels: Sequence[int] | None = None,
    top5: bool = False,
    categories: Mapping[str, str] | None = None,
    text: str | Path | None = None,
    enlargement: int | None = None,
    smooth: bool = False,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Sheet:
    """Write a page that shows pictures of a data set to people, and its key, which has the right answers.

    Of a data set of regions it shows pairs: a region and the same one a pixel further or two pixels smaller. Of one of
    gradual degradations it shows each source image at one level. Each person sees the pictures of one of two groups, A
    and B, and so never both of a pair.

    Parameters
    ----------
    directory : str, Path or DataSet
        A finished data set.
    out : str or Path
        The page, ``.html``. The key goes beside it: ``pairs-key.json`` for ``pairs.html``.
    n : int
        Pictures that each person sees: pairs, or source images.
    seed : int
        What is drawn at random follows from it: pairs or images and their levels, groups, and names of pictures. The
        order in which a person sees them follows from the study and the person.
    predictions : str or Path, optional
        Of regions: what a model made of them (`read_predictions`). Pairs are those of which it has one right. Without
        it, any.
    scores : str, Path or Scores, optional
        Of gradual degradations: a model's scores; its accuracy at each level goes into the key, and stands beside
        people's.
    sets : sequence of str, optional
        Ids, aliases or patterns. Of regions one set, by default ``clean``; of gradual degradations by default all of
        them and ``clean``.
    change : {"shift", "shrink", "both"}
        Which partners a region may have.
    sizes : sequence of str, optional
        Groups of regions (``p40``, ``s16``); by default all.
    levels : sequence of int, optional
        Of gradual degradations; 0 is the clean image. By default all.
    top5 : bool
        The model has an image right if its class is among the five most likely.
    categories : mapping, optional
        Class folder or name -> answer. By default the classes, where there are at most ten.
    text : str or Path, optional
        A text file: title, paragraphs, and after a line ``---`` what people read at the end.
    enlargement : int, optional
        Each pixel is shown as so many by so many; by default as many as fit into 256.
    smooth : bool
        The browser smooths enlarged pictures; by default each pixel is a square.
    progress : callable or bool, optional
        Told (phase, done, in all). By default a bar is shown in a terminal and in a notebook; False shows none.

    Returns
    -------
    Sheet

    Raises
    ------
    StudyError
        The data set has no such pictures, or too few; answers that people cannot choose from; another study lies at
        `out`.
    PredictionError, ScoreError, UnknownCorruption
        Predictions or scores that are not of this data set; sets that it does not have.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
    Images". Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image Classification
    Algorithms".
    """
    page = Path(out)
    data = directory if isinstance(directory, DataSet) else open_data_set(directory)
    if n < 1 or not 0 <= seed < 2**53 or (enlargement is not None and enlargement < 1):
        raise StudyError(
            f"n is {n}, the seed {seed}, the enlargement {enlargement}: whole numbers, from 1, from 0, and from 1 "
            "upwards."
        )
    if page.suffix.lower() not in (".html", ".htm"):
        raise StudyError(f"The page {page} is opened in a browser: give it a name that ends in .html.")
    if data.path.resolve() in page.resolve().parents:
        raise StudyError(
            f"{page} lies in the data set, where `corruptset verify` would find a file too many. Give another place "
            "with --out."
        )
    if top5 and predictions is None:
        raise StudyError("--correct top5 says when a model has an image right, and there are no --predictions.")
    instructions = read_instructions(text)
    draw = Draw(data.digest, seed, answer_choices(data, categories))
    of_regions = data.manifest.recipe.get("regions") is not None
    what, instead = "levels", "--scores has a model's profile"
    others: dict[str, object] = {
        "--predictions": predictions,
        "--change": None if change == "both" else change,
        "--sizes": sizes,
    }
    if of_regions:
        what, instead = "regions", "--predictions says which regions a model has right"
        others = {"--scores": scores, "--levels": levels}
    if unfit := [name for name, value in others.items() if value is not None]:
        raise StudyError(
            f"{data.path} is a data set of {what}, with which {' and '.join(unfit)} cannot be used; {instead}."
        )
    if of_regions:
        changes: Sequence[Change] = list(STEPS) if change == "both" else [change]
        model, accuracy, pictures = region_pairs(
            data, draw, n, sets, changes, sizes, predictions, top5, progress_function(progress)
        )
    else:
        model, accuracy, pictures = level_pictures(data, draw, n, sets, levels, scores)
    shown: dict[str, Any] = {
        "categories": list(dict.fromkeys(draw.answer_of.values())),
        "enlargement": enlargement or max(1, SHOWN // max(max(image.shape[:2]) for _, image in pictures)),
        "smooth": smooth,
    }
    # the study id is a hash of what people see
    seen = shown | {
        "version": STUDY_VERSION,
        "text": list(instructions),
        "pictures": sorted([trial.group, trial.id, pixel_digest(image)] for trial, image in pictures),
    }
    key = StudyKey(
        schema_version=STUDY_VERSION,
        study=canonical_sha256(seen),
        kind="pairs" if of_regions else "levels",
        digest=data.digest,
        name=f"{data.manifest.name} {data.manifest.version}",
        model=model,
        seed=seed,
        classes=len(data.classes),
        trials=sorted((trial for trial, _ in pictures), key=lambda trial: (trial.unit, trial.group)),
        model_accuracy=accuracy,
        **shown,
    )
    key_file = page.with_name(f"{page.stem}-key.json")
    files = {
        key_file: (key.model_dump_json(indent=1) + "\n").encode(),
        page: sheet_page(key, instructions, pictures),
    }
    for file, content in files.items():
        if file.exists() and file.read_bytes() != content:
            raise StudyError(
                f"{file} is there already, and is another one. People may have answered it: give another --out, or "
                "delete it."
            )
    page.parent.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        write_atomic(file, content)
    return Sheet(page, key_file, key, len(files[page]))
