"""Sets in blocks: every set in one of them, in the order of families and severities."""

from __future__ import annotations

from typing import Any

from corruptset.generate.pixels.blocks import ALONE, blocks_of
from corruptset.manifests.records.models import SetRecord


def record(set_id: str, *stages: tuple[str, int | None, int | None]) -> SetRecord:
    values: dict[str, Any] = {"aliases": [], "role": "test", "count": 1, "files": 1, "bytes": 1, "metrics": None}
    named = [
        {"corruption": c, "revision": 1, "severity": s, "level": level, "parameters": {}} for c, s, level in stages
    ]
    return SetRecord.model_validate({"id": set_id, "stages": named, "pixel_digest": f"blake3:{'0' * 64}", **values})


def single(name: str, severity: int) -> SetRecord:
    return record(f"{name}/{severity}", (name, severity, None))


def pair(first: str, second: str) -> SetRecord:
    return record(f"{first}-1+{second}-1", (first, 1, None), (second, 1, None))


def test_severities_stand_in_their_order_and_corruptions_in_that_of_families() -> None:
    sets = [record("clean"), *(single(name, s) for name in ("fog", "gaussian_noise", "unheard_of") for s in (5, 1, 3))]
    blocks = blocks_of(sets)
    assert [b.name for b in blocks] == ["gaussian_noise", "fog", "unheard_of"]
    assert [b.number(s) for b in blocks for s in b.sets] == [1, 3, 5] * 3


def test_levels_of_two_digits_are_ladders() -> None:
    sets = [record(f"fade_black/{level:02d}", ("fade_black", None, level)) for level in (10, 2, 1)]
    (block,) = blocks_of(sets)
    assert block.kind == "levels"
    assert [s.id for s in block.sets] == ["fade_black/01", "fade_black/02", "fade_black/10"]


def test_a_set_called_otherwise_is_among_the_others() -> None:
    blocks = blocks_of([record("dark", ("fog", 3, None)), single("fog", 1)])
    assert [(b.kind, [s.id for s in b.sets]) for b in blocks] == [("severities", ["fog/1"]), ("others", ["dark"])]


def test_both_orders_are_one_grid_and_every_set_is_in_one_block() -> None:
    sets = [pair(a, b) for a in ("fog", "snow") for b in ("contrast", "pixelate")]
    sets += [pair(b, a) for a in ("fog", "snow") for b in ("contrast", "pixelate")]
    sets += [single("fog", s) for s in (1, 2)] + [single("contrast", 1)] + [pair("frost", "zoom_blur")]
    blocks = blocks_of(sets)
    assert [b.kind for b in blocks] == ["severities", "grid", "grid"]
    grid = blocks[1]
    assert set(grid.rows) == {ALONE, "fog-1", "snow-1", "contrast-1", "pixelate-1"}
    cell = grid.rows["snow-1"]["contrast-1"]
    assert cell is not None
    assert cell.id == "snow-1+contrast-1"
    assert grid.rows["contrast-1"]["snow-1"] is not cell
    assert grid.rows["fog-1"]["snow-1"] is None
    alone = grid.rows[ALONE]["fog-1"]
    assert alone is not None
    assert alone.id == "fog/1"  # it has a curve in its own block, and is named here
    assert sorted(s.id for b in blocks for s in b.sets) == sorted(s.id for s in sets)


def test_chains_of_three_are_rows_of_their_first_two() -> None:
    three = record("fog-1+snow-1+contrast-1", ("fog", 1, None), ("snow", 1, None), ("contrast", 1, None))
    (block,) = blocks_of([three])
    assert block.rows == {"fog-1+snow-1": {"contrast-1": three}}
