"""The panels "first below 90, 50, 10 %": one image under every degradation, at the level where a model's accuracy falls
below.

Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image Classification Algorithms",
Figures 7 to 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...manifests.records.models import SetRecord
from ..comparison.entries import Entry
from ..outcomes import CLEAN
from ..profiles import THRESHOLDS
from .page_pictures import Place


class PanelPicture(NamedTuple):
    """The image under one degradation."""

    degradation: str
    place: Place | None
    """None where the data set does not have the image: level 0 of one without clean images."""
    level: int
    accuracy: str
    """At this level."""
    change: str
    """What the level does."""


class Panel(NamedTuple):
    """Of one model at one threshold."""

    label: str
    pictures: Sequence[PanelPicture]
    never: Sequence[str]
    """Degradations under which its accuracy never falls below the threshold."""


def panel_rows(entries: Sequence[Entry], records: Sequence[SetRecord], index: int) -> dict[str, list[Panel]]:
    """Return the panels of every threshold, by its words.

    Parameters
    ----------
    entries : sequence of Entry
    records : sequence of SetRecord
        The data set's sets whose images are there.
    index : int
        Of the sample that is shown.
    """
    ids: dict[tuple[str, int | None], str] = {
        (s.stages[0].corruption, s.stages[0].level): s.id
        for s in records
        if len(s.stages) == 1 and s.stages[0].level is not None
    }
    if any(s.id == CLEAN for s in records):
        ids |= {(name, 0): CLEAN for name, _ in list(ids)}
    shown = [entry for entry in entries if entry.scores.profiles]
    return {
        f"{threshold:.0%}".replace("%", " %"): [_panel(entry, threshold, ids, index) for entry in shown]
        for threshold in (THRESHOLDS if shown else ())
    }


def _panel(entry: Entry, threshold: float, ids: dict[tuple[str, int | None], str], index: int) -> Panel:
    pictures, never = list[PanelPicture](), list[str]()
    for name, profile in entry.scores.profiles.items():
        below = profile.first_below.get(str(threshold))
        if below is None:
            never.append(name)
        else:
            set_id = ids.get((name, below.level))
            place = None if set_id is None else Place(set_id, index)
            known = below.level in profile.levels
            accuracy = f"{100 * profile.accuracy[profile.levels.index(below.level)]:.1f} %" if known else "not known"
            changed = "" if below.changed is None else f", {100 * below.changed:.0f} % of pixels changed"
            pictures.append(PanelPicture(name, place, below.level, accuracy, f"{below.change}{changed}"))
    return Panel(entry.label, pictures, never)
