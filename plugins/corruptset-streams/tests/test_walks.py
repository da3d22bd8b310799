"""Test the path through a grid against its definition, and the walk against a golden digest and its rules."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice, pairwise

import numpy as np
import pytest
from corruptset_streams.walks import accuracies_of, find_path, grid_recipe, load_stream, walk
from stream_tools import RECIPE, TABLE, accuracies_file, example_accuracies, small_recipe

from corruptset.canonical import canonical_sha256
from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.stages import parse_chain
from corruptset.errors import CorruptsetError, RecipeError
from corruptset.generate.recipes.recipe import load_recipe, parse_recipe

ACCURACIES = {name: 100 * value for name, value in example_accuracies().items()}
TABLES = get_calibration("imagenet")


def reference_path(grid, baseline):
    """Return the path by a recursive search that compares all continuations of every cell, as in the definition."""
    size = len(grid)

    def distance(path):
        total = 0.0
        for i, j in reversed(path):
            total += grid[i][j]
        return abs(total / len(path) - baseline)

    @cache
    def best(i, j):
        if i == 0:
            return [(0, j)] if j else None
        if j >= size:
            return None
        longer = [[(i, j), *path] for path in (best(i - 1, j), best(i, j + 1)) if path is not None]
        # of two as near the one to (i, j + 1)
        return min(reversed(longer), key=distance, default=None)

    return min((best(i, 0) for i in range(1, size)), key=distance)


def test_path_matches_definition():
    for size in (2, 3, 6, 11):
        rng = np.random.default_rng(size)
        for kind in range(12):
            grid = rng.uniform(0, 100, (size, size)) if kind % 2 else np.floor(rng.uniform(0, 6, (size, size))) * 20
            grid = np.sort(np.sort(grid, 0), 1)[::-1, ::-1].tolist() if kind % 3 else grid.tolist()
            for baseline in (0, 20, 40, 90):
                assert find_path(grid, baseline) == reference_path(grid, baseline), (size, kind, baseline)


def test_walk_visits_pairs_in_turn_and_is_stable():
    cells = list(islice(walk(TABLE, ACCURACIES, 43), 1000))
    steps = [{stage.corruption: stage.severity for stage in parse_chain(cell, TABLES)} for cell in cells]
    for before, after in pairwise(steps):
        if len(before) == 1 and before.keys() != after.keys():
            continue  # a path ends, and the next begins with its corruption
        changed = {name: after.get(name, 0) - before.get(name, 0) for name in before | after}
        assert sorted(changed.values()) in ([-0.5, 0], [0, 0.5], [0.5], [-0.5]) or len(before) == len(after) == 1
    assert len({tuple(step) for step in steps if len(step) == 2}) > 8, "all pairs come up"
    assert list(islice(walk(TABLE, ACCURACIES, 44), 1000)) != cells
    walked = [[cell, place, 5] for cell, place in zip(cells, range(0, 5000, 5), strict=True)]
    assert canonical_sha256(walked) == "sha256:98fc852608e440675ee2fabce836cb8549a1351eab66a26c4d4de33006e79237"


def test_shipped_streams_match_ccc():
    tables = [load_stream(f"ccc-{name}")[1] for name in ("easy", "medium", "hard")]
    assert [(len(table.corruptions), table.baseline) for table in tables] == [(14, 40), (13, 20), (4, 0)]
    assert tables[2].severities == [k / 4 for k in range(21)]
    assert len(tables[2].cells) == 12 * 400 + 4 * 20


def test_grid_recipe_has_required_sets(tmp_path):
    sets = parse_recipe(grid_recipe(*load_stream(small_recipe(tmp_path))), "the grid").resolve().sets
    assert sorted(s.id for s in sets) == TABLE.cells
    for spec in sets[::97]:
        assert spec.stages == parse_chain(spec.id, TABLES)


MISTAKES = [
    ('"pixelate"', '"pixelat"', "Did you mean 'pixelate'"),
    ('"pixelate"', '"contrast"', "contrast/5"),
    ('"pixelate"', '"rotate"', "rotate: severity 0.5 is between 0 and 1, but calibration"),
    ('"pixelate"', '"black_lines"', "has levels"),
    ("step = 0.5", "step = 0.3", "step: Input should be a multiple of 0.25"),
    ("step = 0.5", "step = 0.75", "5.25"),
    ("speed = 5", "speed = 0", "speed: Input should be greater than 0"),
    ('kind = "resize-crop"\nresize = 48\ncrop = 40', 'kind = "none"', "images of one size"),
    ('format = "jpeg"', 'format = "png"', "JPEG"),
    ("tar = 12", "tars = 12", "tars: Extra inputs are not permitted"),
    ("[stream]", "[streams]", "corruptions"),
    ('"imagenet"', '"own.toml"', "own.toml"),
]


def test_recipe_errors_are_explained(tmp_path):
    for old, new, message in MISTAKES:
        assert old in RECIPE
        (tmp_path / "a.toml").write_text(RECIPE.replace(old, new))
        with pytest.raises(CorruptsetError, match=message):
            load_stream(tmp_path / "a.toml")
    with pytest.raises(RecipeError, match=r"ccc-hrad cannot be read.*Choose ccc-easy, ccc-medium, ccc-hard"):
        load_stream("ccc-hrad")
    with pytest.raises(RecipeError, match="corruptset-streams"):
        load_recipe("ccc-hard")
    with pytest.raises(RecipeError, match=r"describes a stream\. Build it with `corruptset stream"):
        parse_recipe(RECIPE, "The recipe")


def test_scores_and_csv_give_same_accuracies(tmp_path):
    scores = {name: {"n": 10, "accuracy": value / 100} for name, value in ACCURACIES.items()} | {
        "clean": {"accuracy": 1}
    }
    (tmp_path / "scores.json").write_text(json.dumps({"sets": scores}))
    file = accuracies_file(tmp_path)
    assert accuracies_of(TABLE, file) == accuracies_of(TABLE, tmp_path / "scores.json") == ACCURACIES
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(
        "".join(line for line in lines if not line.startswith(("contrast/5", "brightness-0p5+contrast-0p5")))
    )
    missing = r"accuracies of 2 of 1240 sets are missing: brightness-0p5\+contrast-0p5, contrast/5"
    with pytest.raises(RecipeError, match=missing):
        accuracies_of(TABLE, file)
    for text in (
        "set,accuracy\nfog/1,nan\n",
        "id,top1\nfog/1,0.2\n",
        '{"sets": {"fog/1": {"accuracy": null}}}',
        "{",
    ):
        file.write_text(text)
        with pytest.raises(RecipeError, match=r"(?s)--accuracies .*accuracies.csv cannot be used .*the columns set"):
            accuracies_of(TABLE, file)
    for text, message in (
        ("fog/1,0.2\nfog/1,0.3\n", "fog/1 occurs twice"),
        ("fog/1,20\n", "its accuracy 20.0 is not from 0"),
    ):
        file.write_text(f"set,accuracy\n{text}")
        with pytest.raises(RecipeError, match=message):
            accuracies_of(TABLE, file)
    for path, message in ((tmp_path / "none.csv", "cannot be used"), (None, "--accuracies is required")):
        with pytest.raises(RecipeError, match=message):
            accuracies_of(TABLE, path)
