"""Test maps of every region of an image against a slow implementation, and the drawn maps."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from reference_fragile import dataset_of, exhaustive_regions, reference_flips, region_record

from corruptset.errors import ParameterError, PredictionError
from corruptset.scores.fragile_maps import crop_maps, fragile_maps, map_sheet, overlap, write_maps
from corruptset.scores.outcomes import Outcome

BLUE, ORANGE, DARK = (0, 114, 178), (230, 159, 0), (96, 96, 96)
GREEN, SKY, VERMILION = (0, 158, 115), (86, 180, 233), (213, 94, 0)


def outcome_of(count):
    rng = np.random.default_rng(0)
    return Outcome(rng.random(count) < 0.7, probability=rng.random(count).astype(np.float32))


def colours(file):
    """Return the number of pixels of each colour in an image."""
    with Image.open(file) as image:
        return {colour: count for count, colour in image.convert("RGB").getcolors(1 << 16)}


def test_maps_match_reference():
    records = exhaustive_regions("a", 9, [4, 6]) + exhaustive_regions("b/c", 8, [4, 6])
    records = [records[i] for i in np.random.default_rng(1).permutation(len(records))]
    outcome = outcome_of(len(records))
    rows = {(r["source"], *r["place"]): r for r in reference_flips(records, outcome.correct, outcome.correct, True)}
    indices = {(r.source, r.side, r.y, r.x): i for i, r in enumerate(records)}
    for source, size, side in [("a", 9, 4), ("b/c", 8, 6)]:
        maps = fragile_maps(dataset_of(records), {"clean": outcome}, source, side)
        assert (maps.source, maps.side, maps.right.shape) == (source, side, (size - side + 1,) * 2)
        for y, x in np.ndindex(maps.right.shape):
            row, index = rows[source, side, y, x], indices[source, side, y, x]
            result = maps.right[y, x], maps.shift[y, x], maps.shrink[y, x], maps.probability[y, x]
            assert result == (row["right"], row["loose_shift"], row["loose_shrink"], outcome.probability[index])
    embedded = dataset_of(exhaustive_regions("a", 9, [4], shrunk=False), kind="embed")
    maps = fragile_maps(embedded, {"clean": Outcome(np.ones(36, bool))}, "a", 4)
    assert maps.shrink is maps.probability is None
    assert not maps.shift.any()
    # These are the crops of a table.
    records = exhaustive_regions("a", 9, [4])
    outcome, data = outcome_of(len(records)), dataset_of(records)
    data.crops = lambda name: SimpleNamespace(regions=lambda: iter(records))
    expected, result = fragile_maps(data, {"clean": outcome}, "a", 4), crop_maps(data, outcome, "a", 4)
    for name in ("right", "shift", "shrink", "probability"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name))
    with pytest.raises(PredictionError, match=r"3 predictions for the \d+ crops of the image 'a'"):
        crop_maps(data, outcome_of(3), "a", 4)


def test_unsuitable_dataset_has_no_maps():
    records = exhaustive_regions("a", 9, [4])
    block = [region_record("a", 4, y, x, anchor=y == x == 3) for y in (2, 3, 4) for x in (2, 3, 4)]
    clean_outcomes = {"clean": outcome_of(len(records))}
    for dataset, outcomes, name, side, error, message in (
        (records, clean_outcomes, "b", 4, ParameterError, "no regions of an image 'b'"),
        (records, clean_outcomes, "a", 5, ParameterError, "has only 0 of side 5"),
        (records, clean_outcomes, "a", 2, ParameterError, "has only 0 of side 2"),
        (block, {"clean": outcome_of(9)}, "a", 4, ParameterError, "anchor at every position"),
        (records, {}, "a", 4, PredictionError, "every region"),
        (records, {"clean": outcome_of(3)}, "a", 4, PredictionError, "every region"),
    ):
        with pytest.raises(error, match=message):
            fragile_maps(dataset_of(dataset), outcomes, name, side)
    with pytest.raises(ParameterError, match="no regions among its samples"):
        write_maps(dataset_of([None]), {}, "maps", 1)


def test_maps_are_written_per_image_with_colours_of_positions(tmp_path):
    records = exhaustive_regions("a", 32, [28])
    correct = np.array([r.x < 3 for r in records])
    maps = fragile_maps(
        dataset_of(records), {"clean": Outcome(correct, probability=correct.astype(np.float32))}, "a", 28
    )
    actual = colours(io.BytesIO(map_sheet([maps])))
    # 5 x 5 positions of 5 x 5 pixels, right in columns 0 to 2: fragile are columns 2 (right) and 3 (wrong); of the
    # shrunk, columns 1 to 4
    assert actual[BLUE] > 5 * 25
    assert actual[ORANGE] > 5 * 25
    assert actual[DARK] > 10 * 25
    records = [r for name in ("x/a", "x/b", "c") for r in exhaustive_regions(name, 12, [5, 8])]
    outcomes = {"clean": outcome_of(len(records))}
    files = write_maps(dataset_of(records), outcomes, tmp_path, 2)
    assert [f.relative_to(tmp_path).as_posix() for f in files] == ["x/a.png", "x/b.png"]
    assert files[1].read_bytes() == map_sheet([fragile_maps(dataset_of(records), outcomes, "x/b", n) for n in (5, 8)])
    assert len(write_maps(dataset_of(records), outcomes, tmp_path / "all", 9)) == 3


def test_two_models_have_overlap_of_fragile_positions(tmp_path):
    """Test two models with 1x4 positions, of which two on the left and one are correct."""
    data = dataset_of([region_record(name, 3, 0, x) for name in "ab" for x in range(4)], kind="embed")
    one, other = ({"clean": Outcome(np.arange(8) < count)} for count in (2, 1))
    # Positions 1 and 2 are fragile to one model, and 0 and 1 to the other. One of three is fragile to both.
    maps = [fragile_maps(data, outcome, "a", 3) for outcome in (one, other)]
    assert [m.shift.tolist() for m in maps] == [[[False, True, True, False]], [[True, True, False, False]]]
    assert overlap(*maps) == {"shift": 1 / 3, "shrink": None}
    write_maps(data, one, tmp_path, 9, other)
    assert (tmp_path / "overlap.csv").read_text().splitlines() == [
        "image,side,shift IoU,shrink IoU", "a,3,0.333333333333,", "b,3,,", "mean,3,0.333333333333,",
    ]  # fmt: skip
    actual = colours(tmp_path / "a.png")
    assert actual[GREEN] == actual[SKY] == actual[VERMILION] > 100
    shrunk = exhaustive_regions("a", 9, [4])
    same = fragile_maps(dataset_of(shrunk), {"clean": outcome_of(len(shrunk))}, "a", 4)
    assert overlap(same, same) == {"shift": 1, "shrink": 1}
