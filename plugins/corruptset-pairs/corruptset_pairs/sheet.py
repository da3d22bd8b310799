"""Write the page and the key of a small study with human participants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from corruptset.canonical import canonical_sha256
from corruptset.errors import StudyError
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.reader import Dataset
from corruptset.pixels import pixel_digest
from corruptset.progress import progress_function, shows_progress
from corruptset.scores.records import Scores

from .answer_choices import answer_choices
from .images import STEPS, Draw, level_images, region_pairs
from .sheet_page import read_instructions, sheet_page
from .study_records import STUDY_VERSION, Change, StudyKey

MAX_ENLARGED_SIDE = 256
"""The maximum side, in page pixels, to which images are enlarged by default. They then fit on a screen that is 320
pixels wide.
"""


@dataclass(frozen=True)
class Sheet:
    """The files that `pairs_sheet` wrote, and the contents of the key."""

    page: Path
    key_file: Path
    key: StudyKey
    bytes: int
    """The size of the page in bytes."""


@shows_progress("pairs-sheet")
def pairs_sheet(
    directory: str | Path | Dataset,
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
    """Write a page that shows images of a dataset to participants, and a key with the right answers.

    For a dataset of regions, the page shows pairs. A pair consists of a region and the same region shifted by one pixel
    or shrunk by two pixels. For a dataset of gradual degradations, the page shows each source image at one level.
    Participants belong to group A or B. Each group sees one member of every pair.

    Parameters
    ----------
    directory : str, Path or Dataset
        A finished dataset of regions or of gradual degradations.
    out : str or Path
        The page, with the suffix ``.html``. The key is written next to it, as ``pairs-key.json`` for ``pairs.html``.
    n : int
        The number of images that each participant sees. This is also the number of pairs or of source images.
    seed : int
        The random seed, from 0 to 2**53 - 1. It determines the pairs or images, their levels, their groups and their
        names on the page. The order of the images depends on the study and the participant.
    predictions : str or Path, optional
        The predictions of a model for a dataset of regions, as for `read_predictions`. The page then shows only pairs
        in which the model classifies exactly one member correctly. By default, all pairs may be shown.
    scores : str, Path or Scores, optional
        The scores of a model on a dataset of gradual degradations. The model's accuracy at each level is stored in the
        key, and reported next to the accuracy of the participants.
    sets : sequence of str, optional
        Set ids, aliases or patterns. The default is ``clean`` for regions, and all sets for gradual degradations.
    change : {"shift", "shrink", "both"}
        The way in which the second region of a pair differs from the first. By default, both kinds of pairs are shown.
    sizes : sequence of str, optional
        The groups of regions to use, such as ``p40`` or ``s16``. By default, all groups are used.
    levels : sequence of int, optional
        The levels of gradual degradations to show. Level 0 is the clean image. By default, all levels are shown.
    top5 : bool
        Count a prediction as correct if the true class is among the five most likely classes.
    categories : mapping, optional
        The answer for each class folder or class name. By default, the classes are the answers, if there are at most
        ten.
    text : str or Path, optional
        A text file with the instructions for the participants. It contains a title, paragraphs, a line ``---``, and the
        closing text.
    enlargement : int, optional
        The factor by which images are enlarged. By default, it is the largest integer for which they fit into 256
        pixels.
    smooth : bool
        Let the browser smooth enlarged images. By default, each pixel is shown as a square.
    progress : callable or bool, optional
        A function that is called with (phase, items done, total number of items). By default, a progress bar is shown
        in terminals and notebooks. False disables it.

    Returns
    -------
    Sheet
        The paths of the page and the key, the contents of the key, and the size of the page.

    Raises
    ------
    StudyError
        If the dataset has too few suitable images, if the number of answers is not from 2 to 10, if the options do not
        fit the dataset, or if `out` already contains a different study.
    PredictionError, ScoreError, UnknownCorruption
        If the predictions or scores cannot be read or belong to a different dataset, or if a set does not exist.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
    Images". Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image Classification
    Algorithms".
    """
    page = Path(out)
    data = directory if isinstance(directory, Dataset) else Dataset(directory)
    for option, value, in_range, expected in (
        ("--n", n, n >= 1, "of at least 1"),
        ("--seed", seed, 0 <= seed < 2**53, "from 0 to 2**53 - 1"),
        ("--enlarge", enlargement, enlargement is None or enlargement >= 1, "of at least 1"),
    ):
        if not in_range:
            raise StudyError(f"{option} is {value}. Use an integer {expected}.")
    if page.suffix.lower() not in (".html", ".htm"):
        raise StudyError(f"The name of the page, {page}, does not end in .html. Choose a name that ends in .html.")
    if data.path.resolve() in page.resolve().parents:
        raise StudyError(
            f"The page {page} would be inside the dataset, where `corruptset verify` would report it as an unexpected "
            "file. Choose another location with --out."
        )
    if top5 and predictions is None:
        raise StudyError("--correct top5 has no effect without the predictions of a model. Add --predictions.")
    instructions = read_instructions(text)
    draw = Draw(data.digest, seed, answer_choices(data, categories))
    of_regions = data.manifest.recipe.get("regions") is not None
    kind, advice = "gradual degradations", "Use --scores for the accuracy of a model"
    unsupported: dict[str, object] = {
        "--predictions": predictions,
        "--change": None if change == "both" else change,
        "--sizes": sizes,
    }
    if of_regions:
        kind, advice = "regions", "Use --predictions for the results of a model"
        unsupported = {"--scores": scores, "--levels": levels}
    if used := [name for name, value in unsupported.items() if value is not None]:
        raise StudyError(f"{' and '.join(used)} cannot be used with {data.path}, a dataset of {kind}. {advice}.")
    if of_regions:
        changes: Sequence[Change] = list(STEPS) if change == "both" else [change]
        model, accuracy, trial_images = region_pairs(
            data, draw, n, sets, changes, sizes, predictions, top5, progress_function(progress)
        )
    else:
        model, accuracy, trial_images = level_images(data, draw, n, sets, levels, scores)
    side = max(max(image.shape[:2]) for _, image in trial_images)
    shown: dict[str, Any] = {
        "categories": list(dict.fromkeys(draw.answer_of.values())),
        "enlargement": enlargement or max(1, MAX_ENLARGED_SIDE // side),
        "smooth": smooth,
    }
    # The study id is a hash of everything that participants see.
    seen = shown | {
        "version": STUDY_VERSION,
        "text": list(instructions),
        "pictures": sorted([trial.group, trial.id, pixel_digest(image)] for trial, image in trial_images),
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
        trials=sorted((trial for trial, _ in trial_images), key=lambda trial: (trial.unit, trial.group)),
        model_accuracy=accuracy,
        **shown,
    )
    key_file = page.with_name(f"{page.stem}-key.json")
    files = {
        key_file: (key.model_dump_json(indent=1) + "\n").encode(),
        page: sheet_page(key, instructions, trial_images),
    }
    for file, content in files.items():
        if file.exists() and file.read_bytes() != content:
            raise StudyError(
                f"{file} already exists with different contents. Participants may have answered that study, so choose "
                "another --out, or delete the file."
            )
    page.parent.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        write_atomic(file, content)
    return Sheet(page, key_file, key, len(files[page]))
