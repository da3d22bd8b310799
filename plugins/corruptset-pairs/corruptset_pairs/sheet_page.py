"""Write the page of a study as one HTML file. The page fetches nothing, and runs only the script that it contains."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import NamedTuple

from corruptset.errors import StudyError
from corruptset.files import read_text, reason
from corruptset.manifests.images.image_formats import png_bytes
from corruptset.pages.document import render, source_hash, text_file, visible

from .images import TrialImages
from .study_records import STUDY_VERSION, StudyKey

PACKAGE = "corruptset_pairs"
END = "---"
"""The line in an instructions file that separates the instructions from the closing text."""
MAX_TEXT_BYTES = 100_000
"""The maximum size of an instructions file in bytes."""


class Instructions(NamedTuple):
    """The text that participants read: a title, paragraphs before the images, and paragraphs after the last image."""

    title: str
    before: list[str]
    after: list[str]


def read_instructions(path: str | Path | None) -> Instructions:
    """Return the instructions in a file, or the package's default instructions if `path` is None.

    Raises
    ------
    StudyError
        If the file cannot be read or has no title.
    """
    if path is None:
        text = text_file("instructions.txt", PACKAGE)
    else:
        try:
            text = read_text(Path(path), MAX_TEXT_BYTES)
        except OSError as e:
            raise StudyError(
                f"The instructions {path} cannot be read: {reason(e)}. Write a UTF-8 text file with a title and "
                "paragraphs."
            ) from None
    title, _, rest = text.strip().partition("\n")
    if title.strip() in ("", END):
        raise StudyError(
            f"The instructions {path} have no title. Write the title on the first line, followed by paragraphs with an "
            "empty line between them."
        )
    before, after = (
        [" ".join(paragraph.split()) for paragraph in part.split("\n\n") if paragraph.strip()]
        for part in f"{rest}\n".partition(f"\n{END}\n")[::2]
    )
    return Instructions(title.strip(), before, after)


def sheet_page(key: StudyKey, text: Instructions, trial_images: TrialImages) -> bytes:
    """Return the page of a study as UTF-8 text. The page does not contain the right answers."""
    from markupsafe import Markup

    style, script = text_file("sheet.css", PACKAGE), text_file("sheet.js", PACKAGE)
    trials = {
        group: sorted(
            [trial.id, base64.b64encode(png_bytes(image)).decode()]
            for trial, image in trial_images
            if trial.group == group
        )
        for group in ("A", "B")
    }
    study = {
        "schema_version": STUDY_VERSION,
        "study": key.study,
        "enlargement": key.enlargement,
        "categories": key.categories,
        "labels": [visible(name) for name in key.categories],
        "trials": trials,
    }
    allowed = f"img-src data:; style-src {source_hash(style)}; script-src {source_hash(script)}"
    sizes = sorted({image.shape[1::-1] for _, image in trial_images})
    words = (
        f"{sizes[0][0]} x {sizes[0][1]}"
        if len(sizes) == 1
        else f"{len(sizes)} different sizes, up to {max(map(max, sizes))}"
    )
    how = f"{key.enlargement} times as large, {'with smoothing' if key.smooth else 'with each pixel as a square'}"
    return render(
        "sheet.html",
        PACKAGE,
        policy=f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        script=Markup(script),
        count=len(trials["A"]),
        enlarged=f"They have {words} pixels and are shown {'at that size' if key.enlargement == 1 else how}.",
        last_key=len(key.categories) % 10,
        smooth=key.smooth,
        short=key.study[7:15],
        study=study,
        **text._asdict(),
    )
