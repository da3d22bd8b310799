"""Fragile rates one region at a time, in dictionaries; and data sets of regions that are no more than records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from corruptset.manifests.records.models import RegionRecord

STEPS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def region(
    source: str, side: int, y: int, x: int, *, group: str | None = None, anchor: bool = True, role: str = "base"
) -> RegionRecord:
    """Return the record of a region; its row and column are of no account here."""
    return RegionRecord(
        source=source,
        group=group or f"s{side}",
        fraction=None,
        side=side,
        y=y,
        x=x,
        role=role,
        row=0,
        col=0,
        anchor=anchor,
    )


def exhaustive(source: str, size: int, sides: Sequence[int], *, shrunk: bool = True) -> list[RegionRecord]:
    """Return every region of some sides and every shrunk one, each once."""
    found = {(side, y, x): True for side in sides for y in range(size - side + 1) for x in range(size - side + 1)}
    for side, y, x in list(found) if shrunk else []:
        for dy in range(3):
            for dx in range(3):
                found.setdefault((side - 2, y + dy, x + dx), False)
    return [
        region(
            source,
            *place,
            anchor=anchor,
            group=f"s{place[0] if anchor else place[0] + 2}",
            role="base" if anchor else "shrink",
        )
        for place, anchor in sorted(found.items())
    ]


def data_of(records: Iterable[RegionRecord], *, kind: str = "crop", mode: str = "exhaustive", classes: int = 10) -> Any:
    """Return what the scores of regions ask of a data set."""
    samples = [SimpleNamespace(index=index, region=record) for index, record in enumerate(records)]
    recipe = {"regions": {"kind": kind, "mode": mode, "store": "images"}}
    return SimpleNamespace(
        samples=samples, classes=range(classes), manifest=SimpleNamespace(recipe=recipe), path="regions"
    )


def slow_flips(
    records: Sequence[RegionRecord], right: Sequence[bool], predicted: Sequence[int], shrunk: bool
) -> list[dict[str, Any]]:
    """Return for each anchor what it is, and which of the five scores it counts in: True or False, None where it does
    not count.
    """
    of = {(r.source, r.side, r.y, r.x): i for i, r in enumerate(records)}
    rows = []
    for i, r in enumerate(records):
        if not r.anchor:
            continue
        beside = [of[place] for dy, dx in STEPS if (place := (r.source, r.side, r.y + dy, r.x + dx)) in of]
        inside = [of[r.source, r.side - 2, r.y + dy, r.x + dx] for dy in range(3) for dx in range(3)] if shrunk else []
        shift, shrink = ([bool(right[j] != right[i]) for j in near] for near in (beside, inside))
        change = [bool(predicted[j] != predicted[i]) for j in beside]
        scores = {
            "loose_shift": any(shift) if shift else None,
            "strict_shift": all(shift) if shift else None,
            "loose_shrink": any(shrink) if shrink else None,
            "strict_shrink": all(shrink) if shrink else None,
            "label_change_shift": any(change) if change else None,
        }
        rows.append(
            {"source": r.source, "group": r.group, "right": bool(right[i]), "place": (r.side, r.y, r.x), **scores}
        )
    return rows


def slow_images(rows: Sequence[dict[str, Any]], group: str, score: str) -> dict[str, tuple[float, float, float, int]]:
    """Return rate, positive, negative and minimal images of each image that has anchors."""
    out = {}
    for source in dict.fromkeys(row["source"] for row in rows):
        counted = [row for row in rows if row["source"] == source and row["group"] == group and row[score] is not None]
        if counted:
            fragile = [row for row in counted if row[score]]
            positive = sum(row["right"] for row in fragile)
            out[source] = (
                len(fragile) / len(counted),
                positive / len(counted),
                (len(fragile) - positive) / len(counted),
                positive,
            )
    return out


def slow_rates(rows: Sequence[dict[str, Any]], group: str, score: str) -> dict[str, float] | None:
    """Return the rates of a group, averaged over images, and the number of anchors; None where none counts."""
    images = slow_images(rows, group, score)
    if not images:
        return None
    rate, positive, negative, minimal = (sum(values) / len(images) for values in zip(*images.values(), strict=True))
    anchors = sum(row["group"] == group and row[score] is not None for row in rows)
    return {"rate": rate, "positive": positive, "negative": negative, "minimal": minimal, "anchors": anchors}


def slow_interval(rates: Sequence[float | None], seed: int, resamples: int = 1_000) -> tuple[float, float] | None:
    """Return the middle 95 % of the mean rate over resamples of the images, drawn as `Bootstrap` says; None: an image
    without a rate.
    """
    means = []
    for first in range(0, resamples, 100):
        count = min(100, resamples - first)
        draws = np.random.Generator(np.random.Philox(key=[seed, first])).integers(
            0, len(rates), (count, len(rates)), dtype=np.int64
        )
        for drawn in draws.tolist():
            values = [rates[i] for i in drawn if rates[i] is not None]
            if values:
                means.append(sum(values) / len(values))  # type: ignore[arg-type]
    return (float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))) if means else None
