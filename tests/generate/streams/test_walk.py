"""The path through a grid against the definition, cell by cell; the walk by its golden digest and its rules."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from streams import made_accuracies, small_stream

from corruptset.canonical import canonical_sha256
from corruptset.generate.streams.accuracies import grid_accuracies
from corruptset.generate.streams.stream_recipe import load_stream
from corruptset.generate.streams.walk import find_path, paths, walk


def plain_path(grid, baseline):
    """The definition, as it is told: recursively, every way on from a cell compared."""
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
        after = [path for path in (best(i - 1, j), best(i, j + 1)) if path is not None]
        longer = [[(i, j), *path] for path in after]
        if not longer:
            return None
        if len(longer) == 1:
            return longer[0]
        return longer[0] if distance(longer[0]) < distance(longer[1]) else longer[1]

    chosen = None
    for i in range(1, size):
        path = best(i, 0)
        if chosen is None or distance(path) < distance(chosen):
            chosen = path
    return chosen


@pytest.mark.parametrize("size", [2, 3, 6, 11])
def test_the_path_is_that_of_the_definition(size):
    rng = np.random.default_rng(size)
    for kind in range(12):
        grid = rng.uniform(0, 100, (size, size)) if kind % 2 else np.floor(rng.uniform(0, 6, (size, size))) * 20
        grid = np.sort(np.sort(grid, 0), 1)[::-1, ::-1].tolist() if kind % 3 else grid.tolist()
        for baseline in (0, 20, 40, 90):
            assert find_path(grid, baseline) == plain_path(grid, baseline), (kind, baseline)


def test_a_path_goes_from_one_corruption_to_the_other():
    recipe = small_stream()
    for path in paths(recipe, grid_accuracies(recipe, made_accuracies(recipe))).values():
        assert path[0][1] > 0 == path[0][3]
        assert path[-1][1] == 0 < path[-1][3]
        for (_, a, _, b), (_, c, _, d) in pairwise(path):
            assert (c, d) in ((a - 0.5, b), (a, b + 0.5))


def test_the_walk_covers_the_stream_and_goes_from_pair_to_pair():
    recipe = small_stream(length=2003, speed=5)
    accuracies = grid_accuracies(recipe, made_accuracies(recipe))
    steps = list(walk(recipe, accuracies, 43))
    assert [s.number for s in steps] == list(range(len(steps)))
    assert [s.first for s in steps] == list(range(0, 2003, 5))
    assert [s.count for s in steps] == [5] * 400 + [3]
    pairs = [steps[0].cell[::2]]
    for step in steps:
        if step.cell[::2] != pairs[-1]:
            pairs.append(step.cell[::2])
    assert all(before[1] == after[0] and after[0] != after[1] for before, after in pairwise(pairs))
    assert len(set(pairs)) > 8, "all pairs come up"
    along = paths(recipe, accuracies)
    assert [s.cell for s in steps[: len(along[pairs[0]])]] == along[pairs[0]]
    assert [s.cell for s in walk(recipe, accuracies, 44)] != [s.cell for s in steps]
    shorter = list(walk(small_stream(length=50), accuracies, 43))
    assert shorter == steps[:10], "a longer stream begins as a shorter one"


def test_the_walk_is_the_same_for_ever():
    recipe = small_stream(length=5000)
    steps = walk(recipe, grid_accuracies(recipe, made_accuracies(recipe)), 43)
    assert canonical_sha256([step.as_json() for step in steps]) == "sha256:98fc852608e440675ee2fabce836cb8549a1351eab66a26c4d4de33006e79237"


def test_the_shipped_streams_are_those_of_ccc():
    sizes = {
        name: (len(load_stream(name).stream.corruptions), load_stream(name).stream.baseline)
        for name in ("ccc-easy", "ccc-medium", "ccc-hard")
    }
    assert sizes == {"ccc-easy": (14, 40), "ccc-medium": (13, 20), "ccc-hard": (4, 0)}
    assert load_stream("ccc-hard").severities == [k / 4 for k in range(21)]
