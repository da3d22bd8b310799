"""Maps of every region of an image against the slow version, and their pictures."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from slow_fragile import data_of, exhaustive, region, slow_flips

from corruptset.errors import ParameterError, PredictionError
from corruptset.scores.fragile_maps import crop_maps, fragile_maps, picture, write_maps
from corruptset.scores.outcomes import Outcome

BLUE, ORANGE, WHITE, DARK = (0, 114, 178), (230, 159, 0), (255, 255, 255), (96, 96, 96)


def outcome_of(count: int, seed: int = 0, **more: Any) -> Outcome:
    rng = np.random.default_rng(seed)
    return Outcome(rng.random(count) < 0.7, probability=rng.random(count).astype(np.float32), **more)


def cut(records: list[Any], order: Any = None) -> Any:
    """Return a data set of regions in some order."""
    return data_of(records if order is None else [records[i] for i in order])


@pytest.mark.parametrize("shuffled", [False, True])
def test_maps_are_the_slow_versions(shuffled):
    records = exhaustive("a", 9, [4, 6]) + exhaustive("b/c", 8, [4, 6])
    data = cut(records, np.random.default_rng(1).permutation(len(records)) if shuffled else None)
    records = [s.region for s in data.samples]
    outcome = outcome_of(len(records))
    rows = {(r["source"], *r["place"]): r for r in slow_flips(records, outcome.correct, outcome.correct, True)}
    of = {(r.source, r.side, r.y, r.x): i for i, r in enumerate(records)}
    for source, size in [("a", 9), ("b/c", 8)]:
        for side in (4, 6):
            maps = fragile_maps(data, {"clean": outcome}, source, side)
            assert (maps.source, maps.side, maps.right.shape) == (source, side, (size - side + 1,) * 2)
            for y, x in np.ndindex(maps.right.shape):
                row, index = rows[source, side, y, x], of[source, side, y, x]
                assert (maps.right[y, x], maps.shift[y, x], maps.shrink[y, x]) == (
                    row["right"],
                    row["loose_shift"],
                    row["loose_shrink"],
                )
                assert maps.probability[y, x] == outcome.probability[index]


def test_embedded_images_have_no_map_of_shrunk_regions():
    data = data_of(exhaustive("a", 9, [4], shrunk=False), kind="embed")
    maps = fragile_maps(data, {"clean": Outcome(np.ones(36, bool))}, "a", 4)
    assert maps.shrink is maps.probability is None
    assert not maps.shift.any()


def test_crops_of_a_table():
    records = exhaustive("a", 9, [4])
    outcome = outcome_of(len(records))
    wanted = fragile_maps(data_of(records), {"clean": outcome}, "a", 4)
    table = SimpleNamespace(
        **{**vars(data_of(records)), "crops": lambda name: SimpleNamespace(regions=lambda: iter(records))}
    )
    found = crop_maps(table, outcome, "a", 4)
    for name in ("right", "shift", "shrink", "probability"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    with pytest.raises(PredictionError, match=r"3 predictions of the \d+ crops of the image 'a'"):
        crop_maps(table, outcome_of(3), "a", 4)


def test_what_has_no_maps():
    records = exhaustive("a", 9, [4])
    outcome = outcome_of(len(records))
    for name, side, said in [
        ("b", 4, "no regions of an image 'b'"),
        ("a", 5, "has 0 of side 5"),
        ("a", 2, "has 0 of side 2"),
    ]:
        with pytest.raises(ParameterError, match=said):
            fragile_maps(data_of(records), {"clean": outcome}, name, side)
    block = [region("a", 4, y, x, anchor=y == x == 3) for y in (2, 3, 4) for x in (2, 3, 4)]
    with pytest.raises(ParameterError, match="anchor at every position"):
        fragile_maps(data_of(block), {"clean": outcome_of(9)}, "a", 4)
    for outcomes in ({}, {"clean": outcome_of(3)}):
        with pytest.raises(PredictionError, match="every region"):
            fragile_maps(data_of(records), outcomes, "a", 4)
    with pytest.raises(ParameterError, match="no regions among its samples"):
        write_maps(SimpleNamespace(samples=[SimpleNamespace(index=0, region=None)], path="d"), {}, "maps", 1)


def test_a_picture_has_the_colours_of_its_positions():
    records = exhaustive("a", 32, [28])
    right = np.array([r.x < 3 for r in records])
    maps = fragile_maps(data_of(records), {"clean": Outcome(right, probability=right.astype(np.float32))}, "a", 28)
    with Image.open(io.BytesIO(picture([maps]))) as made:
        assert made.size[0] >= 640
        colours = {colour: count for count, colour in made.convert("RGB").getcolors(1 << 16)}
    # 5 x 5 positions of 5 x 5 pixels, right in columns 0 to 2: fragile are columns 2 (right) and 3 (wrong); of the
    # shrunk, columns 1 to 4
    assert colours[BLUE] > 5 * 25
    assert colours[ORANGE] > 5 * 25
    assert colours[DARK] > 10 * 25


def test_maps_are_written_by_image(tmp_path):
    records = [r for name in ("x/a", "x/b", "c") for r in exhaustive(name, 12, [5, 8])]
    outcome = outcome_of(len(records))
    files = write_maps(data_of(records), {"clean": outcome}, tmp_path, 2)
    assert [f.relative_to(tmp_path).as_posix() for f in files] == ["x/a.png", "x/b.png"]
    maps = [fragile_maps(data_of(records), {"clean": outcome}, "x/b", side) for side in (5, 8)]
    assert files[1].read_bytes() == picture(maps)
    assert len(write_maps(data_of(records), {"clean": outcome}, tmp_path / "all", 9)) == 3
