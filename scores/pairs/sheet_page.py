"""The page of a study: one HTML file that fetches nothing and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from PIL import Image

from ...errors import StudyError
from ...files import read_text, reason
from ...manifests.records.report import printable
from .sheet_records import STUDY_VERSION, StudyKey
from .shown_pictures import Pixels

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
        text = _template("instructions.txt")
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
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, finalize=_visible, trim_blocks=True
    )
    style, script = _template("sheet.css"), _template("sheet.js")
    shown = {group: sorted(t.id for t in key.trials if t.group == group) for group in ("A", "B")}
    study = {
        "schema_version": STUDY_VERSION,
        "study": key.study,
        "enlargement": key.enlargement,
        "categories": key.categories,
        "labels": [printable(name) for name in key.categories],
        "trials": {group: [[trial, _png(pictures[trial])] for trial in ids] for group, ids in shown.items()},
    }
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    page = environment.get_template("sheet.html").render(
        policy=policy,
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
    return page.encode()


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


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return how a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _visible(value: Any) -> Any:
    """Return text with marks that would not be seen, or would turn the text around, as escapes."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
