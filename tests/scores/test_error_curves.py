"""Which sets are the five severities of one thing."""

from __future__ import annotations

from typing import Any

import unbuilt

from corruptset.manifests.records.models import SetRecord
from corruptset.scores.error_curves import severity_curves


def record(id: str, *stages: tuple[str, int | None], level: int | None = None) -> SetRecord:
    rows = [{"corruption": c, "revision": 1, "severity": s, "level": level, "parameters": {"p": s}} for c, s in stages]
    fields: dict[str, Any] = {
        "id": id,
        "aliases": [],
        "stages": rows,
        "role": "test",
        "count": 1,
        "files": 1,
        "bytes": 1,
    }
    return SetRecord.model_validate(fields | {"pixel_digest": unbuilt.BLAKE3, "metrics": None})


def test_a_corruption_with_all_five(tmp_path):
    sets = [record(f"fog/{s}", ("fog", s)) for s in (5, 3, 1, 2, 4)] + [
        record(f"snow/{s}", ("snow", s)) for s in (1, 2, 3, 4)
    ]
    assert severity_curves(sets) == {"fog": [f"fog/{s}" for s in range(1, 6)]}
    assert severity_curves([]) == {}
    data = unbuilt.data_set(tmp_path)
    assert len(severity_curves(data.manifest.sets)) == 19
    assert severity_curves(unbuilt.data_set(tmp_path / "mnist", "mnist-c").manifest.sets) == {}
    assert severity_curves(unbuilt.data_set(tmp_path / "levels", "image-degrade-30").manifest.sets) == {}


def test_chains_with_one_stage_or_all_at_each_severity():
    pairs = [record(f"fog-{a}+snow-{b}", ("fog", a), ("snow", b)) for a in range(1, 6) for b in range(1, 6)]
    curves = severity_curves(pairs)
    assert curves["fog+snow"] == [f"fog-{s}+snow-{s}" for s in range(1, 6)]
    assert curves["fog-3+snow"] == [f"fog-3+snow-{s}" for s in range(1, 6)]
    assert curves["fog+snow-3"] == [f"fog-{s}+snow-3" for s in range(1, 6)]
    assert len(curves) == 11
    given = [record(f"sp010+fog-{s}", ("salt_pepper", None), ("fog", s)) for s in range(1, 6)]
    assert severity_curves(given) == {"sp010+fog": [f"sp010+fog-{s}" for s in range(1, 6)]}
