"""What is known of corruptions, for a page, and what was drawn for some samples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...corruptions.keys import Keys, sample_keys
from ...corruptions.registry import PLUGIN, corruption_names, get_corruption
from ...corruptions.stages import Stage, chain_keys
from ...errors import CorruptsetError
from ...manifests.records.models import Manifest, SetRecord

OTHER = "other"
"""The family of what this release does not know, and of chains."""
_ANY_SHAPE = (224, 224, 3)
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
    text = inspect.cleandoc(declared.function.__doc__ or "").replace("``", "").replace("`", "")
    notes = _NOTES.search(text)
    paragraphs = [] if notes is None else [" ".join(paragraph.split()) for paragraph in notes[1].strip().split("\n\n")]
    draws = "; ".join(f"{draw.name} ({draw.about})" for draw in declared.draws)
    return Known(
        name,
        declared.family,
        declared.reference,
        "nothing" if declared.deterministic else draws or "a value for each pixel",
        paragraphs,
        text.split("\n\n")[0].replace("\n", " "),
        not declared.preserves_geometry,
    )


def drawn_values(manifest: Manifest, record: SetRecord, ids: Sequence[str]) -> dict[str, str]:
    """Return draw -> its values for samples, of a set of one stage.

    Empty where its corruption is of another revision here.
    """
    (stage,) = record.stages if len(record.stages) == 1 else (None,)
    if stage is None or stage.corruption not in corruption_names():
        return {}
    declared = get_corruption(stage.corruption)
    named = Stage(stage.corruption, stage.revision, stage.severity, stage.level, stage.parameters)
    is_known = declared.revision == stage.revision and declared.family != PLUGIN
    found = {}
    for draw in declared.draws if is_known else ():
        if draw.drawn is None or not draw.is_number:
            continue
        try:
            keys = Keys(chain_keys([named], manifest.seed, manifest.coupling)[0], sample_keys(ids))
            values = draw.drawn(keys, _ANY_SHAPE, stage.parameters)
            if values is not None:
                draw.checked(values[0], _ANY_SHAPE, stage.parameters, declared.name)
                found[draw.name] = ", ".join(f"{value:.4g}" for value in values)
        except (CorruptsetError, KeyError, TypeError, ValueError):  # parameters that a stranger made up
            continue
    return found
