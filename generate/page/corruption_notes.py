"""Descriptions of corruptions for the page of a build."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...corruptions.registry import corruption_names, get_corruption

OTHER = "other"
"""The family of chains of several corruptions, and of corruptions that this release does not define."""
_NOTES = re.compile(r"^Notes\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CorruptionNotes:
    """A description of a corruption.

    Attributes
    ----------
    name, family : str
    reference : str
        The publication that defines the corruption.
    random_draws : str
        A description of the random draws.
    notes : sequence of str
        Paragraphs about errors in the published code that are reproduced, and about deviations from that code.
    summary : str
        A sentence about the effect of the corruption.
    moves : bool
        Whether the corruption moves the content of the image.
    """

    name: str
    family: str
    reference: str = ""
    random_draws: str = ""
    notes: Sequence[str] = ()
    summary: str = ""
    moves: bool = False


def corruption_notes(name: str) -> CorruptionNotes:
    """Return the description of a corruption, taken from its declaration and its docstring.

    An unknown corruption has the family ``other``.
    """
    if name not in corruption_names():
        return CorruptionNotes(name, OTHER, summary="This release of corruptset does not define it.")
    corruption = get_corruption(name)
    text = inspect.cleandoc(corruption.function.__doc__ or "").replace("`", "")
    notes = _NOTES.search(text)
    draws = "; ".join(f"{draw.name} ({draw.about})" for draw in corruption.draws)
    return CorruptionNotes(
        name,
        corruption.family,
        corruption.reference,
        "nothing" if corruption.deterministic else draws or "a value for each pixel",
        [] if notes is None else [" ".join(paragraph.split()) for paragraph in notes[1].strip().split("\n\n")],
        text.split("\n\n")[0].replace("\n", " "),
        not corruption.preserves_geometry,
    )
