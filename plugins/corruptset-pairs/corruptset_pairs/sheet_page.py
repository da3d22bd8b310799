"""The page of a study: one HTML file that fetches nothing and runs nothing but its own script."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from corruptset.errors import StudyError
from corruptset.files import read_text, reason
from corruptset.pages.document import render, source_hash, text_file, visible

from .draw import Pixels
from .study_records import STUDY_VERSION, StudyKey

PACKAGE = "corruptset_pairs"
END = "---"
"""The line of a text after which stands what people read at the end."""
MOST_TEXT = 100_000
"""Bytes of a text."""


@dataclass(frozen=True)
class Instructions:
    """What people read: the first line as title, paragraphs before, paragraphs at the end."""

    title: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def read_instructions(path: str | Path | None) -> Instructions:
    """Return the text of a file, or the one that comes with the package.

    Raises
    ------
    StudyError
        The file cannot be read, or has no text.
    """
    if path is None:
        text = text_file("instructions.txt", PACKAGE)
    else:
        try:
            text = read_text(Path(path), MOST_TEXT)
        except OSError as e:
            raise StudyError(f"The text {path} cannot be read: {reason(e)}. Expected UTF-8 text: a title, and paragraphs.") from None
    title, _, rest = text.strip().partition("\n")
    if not title.strip() or title.strip() == END:
        raise StudyError(f"The text {path} has no title. Its first line is the title; paragraphs follow, with an empty line between them.")
    before, _, after = f"{rest}\n".partition(f"\n{END}\n")
    return Instructions(title.strip(), _paragraphs(before), _paragraphs(after))


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip())


def sheet_page(key: StudyKey, text: Instructions, pictures: Mapping[str, Pixels]) -> bytes:
    """Return the page of a study as UTF-8; no right answer stands in it.

    Parameters
    ----------
    key : StudyKey
    text : Instructions
    pictures : mapping
        Trial id -> (H, W, C) image of uint8, C 1 or 3.
    """
    from markupsafe import Markup

    style, script = text_file("sheet.css", PACKAGE), text_file("sheet.js", PACKAGE)
    shown = {group: sorted(t.id for t in key.trials if t.group == group) for group in ("A", "B")}
    study = {
        "schema_version": STUDY_VERSION,
        "study": key.study,
        "enlargement": key.enlargement,
        "categories": key.categories,
        "labels": [visible(name) for name in key.categories],
        "trials": {group: [[trial, _png(pictures[trial])] for trial in ids] for group, ids in shown.items()},
    }
    allowed = f"img-src data:; style-src {source_hash(style)}; script-src {source_hash(script)}"
    return render(
        "sheet.html",
        PACKAGE,
        policy=f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        script=Markup(script),
        title=text.title,
        before=text.before,
        after=text.after,
        count=len(shown["A"]),
        enlarged=enlarged_words([image.shape for image in pictures.values()], key),
        last_key=len(key.categories) % 10,
        smooth=key.smooth,
        short=key.study[7:15],
        study=study,
    )


def enlarged_words(shapes: Sequence[tuple[int, ...]], key: StudyKey) -> str:
    """Return how large pictures are shown, in a sentence."""
    sizes = sorted({(width, height) for height, width, _ in shapes})
    words = f"{sizes[0][0]} x {sizes[0][1]}" if len(sizes) == 1 else f"{len(sizes)} different sizes, up to {max(map(max, sizes))}"
    factor = key.enlargement
    if factor == 1:
        return f"The pictures have {words} pixels, and are shown at that size."
    how = "and smoothed" if key.smooth else "each pixel as a square"
    return f"The pictures have {words} pixels, and are shown {factor} times as large, {how}."


def _png(image: Pixels) -> str:
    out = io.BytesIO()
    Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()
