"""The request for an audit: data, source, benchmark and options. Worker processes open the data again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..corruptions.plugins import Plugin
from ..corruptions.weather.textures import load_textures
from ..errors import ImageError, ParameterError
from ..generate.sources.source import Source, open_source
from ..workers import Workers
from .archives import BENCHMARKS, PublishedBenchmark, benchmark_of
from .comparison import SourceComparison
from .found_set import FoundData, FoundSet
from .layouts import read_data
from .loaded_sets import sets_of_loader
from .set_audit import Audited

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Request:
    """The arguments of an audit."""

    data: Any
    """A path, or a mapping of set ids to sequences of (image, label)."""
    source: str | Source | None
    labels: str | None
    benchmark: str | None
    sets: tuple[str, ...] | None
    samples: int
    frost_textures: str | None
    plugins: tuple[Plugin, ...] = ()
    """The plugins that were loaded for the audit. A worker loads them when it unpickles this object."""

    @property
    def loader(self) -> bool:
        """Whether the data is a mapping that comes from a loader, not a path."""
        return isinstance(self.data, Mapping)

    @property
    def portable(self) -> bool:
        """Whether another process can open the data and the source."""
        return not self.loader and isinstance(self.source, str)

    def found(self) -> FoundData:
        """Return the sets that were chosen from the data."""
        found = sets_of_loader(self.data) if self.loader else read_data(Path(self.data))
        chosen = [s for s in found.sets if self.sets is None or any(fnmatchcase(s.id, glob) for glob in self.sets)]
        if not chosen:
            names = f"{', '.join(s.id for s in found.sets[:8])}{', ...' * (len(found.sets) > 8)}"
            wanted = ", ".join(map(repr, self.sets or [""]))
            raise ParameterError(f"No set is called {wanted}. The data has {names or 'no sets'}.")
        return replace(found, sets=chosen)

    def published(self, found: FoundData) -> PublishedBenchmark | None:
        """Return the benchmark that the user named, or otherwise the one that the data appears to be a copy of."""
        return BENCHMARKS[self.benchmark] if self.benchmark is not None else _guess_benchmark(found)

    def comparison(self, found: FoundData) -> SourceComparison:
        """Return an object that compares the sets with the source."""
        source = self.source
        opened = open_source(source, labels=self.labels) if isinstance(source, str) else source
        assert opened is not None, "without a source, sets are compared with each other"
        textures = None if self.frost_textures is None else load_textures(self.frost_textures)
        return SourceComparison(found, self.published(found), opened, self.samples, textures, loader=self.loader)


def compare_sets(request: Request, found: FoundData, jobs: int, tell: Progress) -> dict[str, Audited]:
    """Return the results for all sets of a request that has a source.

    One worker gets all severities of a corruption, because the severities share statistics.
    """
    groups = list(_groups(found.sets).values())
    tell("sets", 0, len(found.sets))
    if jobs <= 1 or not request.portable or len(groups) < 2:
        return request.comparison(found).run(found.sets, tell)
    out = dict[str, Audited]()

    def on_result(_: tuple[Request, tuple[str, ...]], results: dict[str, Audited]) -> None:
        out.update(results)
        tell("sets", len(out), len(found.sets))

    with Workers(min(jobs, len(groups))) as workers:
        workers.run(_results, [(request, ids) for ids in groups], on_result, describe=lambda task: ", ".join(task[1]))
    return {one.id: out[one.id] for one in found.sets}


def _results(task: tuple[Request, tuple[str, ...]]) -> dict[str, Audited]:
    """Return the results for some sets. A worker runs this function, and opens the data and the source only once."""
    request, ids = task
    comparison = _open_source(request)
    return comparison.run([one for one in comparison.found.sets if one.id in ids], lambda *_: None)


@functools.lru_cache(maxsize=1)
def _open_source(request: Request) -> SourceComparison:
    return request.comparison(request.found())


def _groups(sets: Sequence[FoundSet]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the sets of each corruption."""
    groups = dict[str, tuple[str, ...]]()
    for one in sets:
        name = one.corruption or one.id
        groups[name] = (*groups.get(name, ()), one.id)
    return groups


def _guess_benchmark(found: FoundData) -> PublishedBenchmark | None:
    """Return the benchmark that the data appears to be a copy of, or None."""
    if found.name is not None:
        return BENCHMARKS[found.name]
    names = {s.corruption for s in found.sets if s.corruption is not None} - {"clean"}
    for one in found.sets:
        try:
            shape = one.read(0).shape
        except (ImageError, IndexError):
            continue
        classes = len(found.classes)
        if not classes and one.labels_cheap and not one.named:
            classes = max((int(label) for i in range(one.count) if (label := one.label(i)) is not None), default=0) + 1
        return benchmark_of(names, (shape[0], shape[1], shape[2]), classes)
    return None
