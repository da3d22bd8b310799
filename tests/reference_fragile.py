"""A slow reference implementation of fragile rates, and datasets of regions that consist of records only."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import reference_scores

from corruptset.manifests.records.models import RegionRecord

STEPS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def region_record(source, side, y, x, **fields):
    """Return the record of a region, whose row and column do not matter."""
    place = {"source": source, "side": side, "y": y, "x": x, "fraction": None, "row": 0, "col": 0}
    return RegionRecord(**{"group": f"s{side}", "role": "base", "anchor": True, **place, **fields})


def exhaustive_regions(source, size, sides, *, shrunk=True):
    """Return the distinct regions of some sides, and the shrunk ones."""
    regions = {(side, y, x): True for side in sides for y in range(size - side + 1) for x in range(size - side + 1)}
    for side, y, x in list(regions) if shrunk else []:
        regions = {(side - 2, y + dy, x + dx): False for dy in range(3) for dx in range(3)} | regions
    shrink = {"anchor": False, "role": "shrink"}
    return [
        region_record(source, *place, **({} if anchor else shrink | {"group": f"s{place[0] + 2}"}))
        for place, anchor in sorted(regions.items())
    ]


def dataset_of(records, *, kind="crop", mode="exhaustive", classes=10):
    """Return an object with the attributes of a dataset that the scores of regions use."""
    samples = [SimpleNamespace(index=index, region=record) for index, record in enumerate(records)]
    manifest = SimpleNamespace(recipe={"regions": {"kind": kind, "mode": mode, "store": "images"}})
    return SimpleNamespace(samples=samples, classes=range(classes), manifest=manifest, path="regions")


def reference_flips(records, correct, predicted, shrunk):
    """Return the five scores of each anchor: True, False, or None if the anchor does not count."""
    indices = {(r.source, r.side, r.y, r.x): i for i, r in enumerate(records)}
    rows = []
    for i, r in enumerate(records):
        if not r.anchor:
            continue
        beside = [indices[place] for dy, dx in STEPS if (place := (r.source, r.side, r.y + dy, r.x + dx)) in indices]
        inside = (
            [indices[r.source, r.side - 2, r.y + dy, r.x + dx] for dy in range(3) for dx in range(3)] if shrunk else []
        )
        scores = {}
        for name, near, values in (
            ("{}_shift", beside, correct),
            ("{}_shrink", inside, correct),
            ("label_change_shift", beside, predicted),
        ):
            differs = [bool(values[j] != values[i]) for j in near]
            scores[name.format("loose")] = any(differs) if differs else None
            if "{}" in name:
                scores[name.format("strict")] = all(differs) if differs else None
        place = {"source": r.source, "group": r.group, "place": (r.side, r.y, r.x), "right": bool(correct[i])}
        rows.append({**place, **scores})
    return rows


@functools.cache
def bootstrap_draws(seed, units):
    """Return the units of each of the 1,000 bootstrap resamples."""
    return [reference_scores.draw_units(seed, units, resample) for resample in range(1000)]


def reference_rates(rows, group, score, seed):
    """Return the mean rates of a group over images, the number of anchors, and the interval. None if no anchor counts.

    The interval contains the middle 95 % of the mean rate over resamples of the images, which are drawn like those of
    `Bootstrap`. Images without anchors are excluded from means.
    """
    images, anchors = [], 0
    for source in dict.fromkeys(row["source"] for row in rows):
        group_rows = [
            row for row in rows if row["source"] == source and row["group"] == group and row[score] is not None
        ]
        correct = [row["right"] for row in group_rows if row[score]]
        shares = (
            [n / len(group_rows) for n in (len(correct), sum(correct), len(correct) - sum(correct))]
            if group_rows
            else []
        )
        images.append([*shares, sum(correct)] if group_rows else None)
        anchors += len(group_rows)
    if not anchors:
        return None
    means = np.mean([image for image in images if image is not None], axis=0).tolist()
    rates = dict(zip(("rate", "positive", "negative", "minimal"), means, strict=True))
    resampled = []
    for drawn in bootstrap_draws(seed, len(images)) if len(images) > 1 else ():
        own = [images[i][0] for i in drawn if images[i] is not None]
        resampled += [sum(own) / len(own)] if own else []
    return {**rates, "anchors": anchors}, np.quantile(resampled, [0.025, 0.975]) if resampled else None
