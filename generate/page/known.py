"""What this release knows of corruptions, for readers of a page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...corruptions.registry import corruption_names, get_corruption

OTHER = "other"
"""The family of what this release does not know, and of chains."""
_NOTES = re.compile(r"^Notes\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Known:
    """What is known of a corruption.

    Attributes
    ----------
    family : str
    reference : str
        Where the definition comes from.
    drawn : str
        What is drawn at random, in a sentence.
    notes : sequence of str
        Paragraphs: published oddities that are kept, and departures.
    summary : str
        What it does.
    """

    name: str
    family: str
    reference: str = ""
    drawn: str = ""
    notes: Sequence[str] = ()
    summary: str = ""
    moves: bool = False


def known_corruption(name: str) -> Known:
    """Return what this release knows of a corruption.

    A name that it does not know has the family ``other``.
    """
    if name not in corruption_names():
        return Known(name, OTHER, summary="This release of corruptset does not know it.")
    declared = get_corruption(name)
    text = inspect.cleandoc(declared.function.__doc__ or "").replace("`", "")
    notes = _NOTES.search(text)
    draws = "; ".join(f"{draw.name} ({draw.about})" for draw in declared.draws)
    return Known(
        name,
        declared.family,
        declared.reference,
        "nothing" if declared.deterministic else draws or "a value for each pixel",
        [] if notes is None else [" ".join(paragraph.split()) for paragraph in notes[1].strip().split("\n\n")],
        text.split("\n\n")[0].replace("\n", " "),
        not declared.preserves_geometry,
    )
