"""The walk of a stream: pairs of corruptions in a drawn order, each along the path of its grid that keeps the accuracy.

Press, Schneider, Kümmerer & Bethge 2023, RDumb: A simple approach that questions our progress in continual test-time adaptation, NeurIPS;
released generator (oripress/CCC).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...corruptions.keys import hash64
from .stream_recipe import Cell, StreamRecipe, cell_id

STREAM_VERSION = 1
"""Of everything that is drawn for a stream; part of every key."""


@dataclass(frozen=True)
class Step:
    """Some images one after the other under one cell."""

    number: int
    first: int
    """The place of its first image in the stream."""
    count: int
    cell: Cell

    def as_json(self) -> list[object]:
        """Return the step as it stands in a stream's manifest."""
        return [cell_id(self.cell), self.first, self.count]


def find_path(accuracy: Sequence[Sequence[float]], baseline: float) -> list[tuple[int, int]]:
    """Return the path through a grid whose mean accuracy is near to a baseline.

    A path begins at some (i, 0), i > 0, and ends at some (0, j), j > 0; from (i, j) it goes to (i - 1, j) or (i, j + 1): to the one whose
    best path on, with (i, j) before it, has the mean nearer to the baseline; where both are as near, to (i, j + 1). Of the beginnings the
    nearest is taken, the lowest of those that are as near.

    Parameters
    ----------
    accuracy : square sequence of float
        [i][j] is that of the first corruption at severity i, then the second at severity j, in steps of the grid. [0][0] is not looked at.
    baseline : float
        In the same unit.

    Returns
    -------
    list of (i, j)
    """
    size = len(accuracy)
    best: dict[tuple[int, int], tuple[float, tuple[tuple[int, int], ...]]] = {}
    for j in reversed(range(size)):
        if j:
            best[0, j] = accuracy[0][j], ((0, j),)
        for i in range(1, size):
            ways = [best[at] for at in ((i, j + 1), (i - 1, j)) if at in best]
            candidates = [(total + accuracy[i][j], ((i, j), *path)) for total, path in ways]
            if candidates:
                best[i, j] = min(candidates, key=lambda way: abs(way[0] / len(way[1]) - baseline))
    beginnings = [best[i, 0] for i in range(1, size)]
    return list(min(beginnings, key=lambda way: abs(way[0] / len(way[1]) - baseline))[1])


def paths(recipe: StreamRecipe, accuracies: Mapping[str, float]) -> dict[tuple[str, str], list[Cell]]:
    """Return the path of every ordered pair; `accuracies` are those of `grid_accuracies`."""
    found = {}
    severities = recipe.severities
    for first, second in recipe.pairs():
        grid = [[accuracies[cell_id((first, a, second, b))] if a or b else 0.0 for b in severities] for a in severities]
        path = find_path(grid, recipe.stream.baseline)
        found[first, second] = [(first, severities[i], second, severities[j]) for i, j in path]
    return found


def walk(recipe: StreamRecipe, accuracies: Mapping[str, float], seed: int) -> Iterator[Step]:
    """Yield the steps of a stream: along the path of a pair, then from its second corruption to a new one, drawn from the seed."""
    table, names = recipe.stream, recipe.stream.corruptions
    path_of = paths(recipe, accuracies)
    first = names[_drawn(seed, 0, len(names))]
    number = at = pair = 0
    while at < table.length:
        pair += 1
        others = [name for name in names if name != first]
        second = others[_drawn(seed, pair, len(others))]
        for cell in path_of[first, second]:
            if at >= table.length:
                return
            count = min(table.speed, table.length - at)
            yield Step(number, at, count, cell)
            number, at = number + 1, at + count
        first = second


def _drawn(seed: int, draw: int, count: int) -> int:
    return int(hash64(["stream", STREAM_VERSION, seed, "walk", draw])) * count >> 64
