"""The options of `verify` and `rebuild` that say what samples are made again from, each described once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from ...corruptions.plugins import load_plugins
from ..plan.options import worker_count
from ..sources.source import Source


class RemakeKeywords(TypedDict, total=False):
    """The fields of `RemakeOptions`, as keyword arguments of `verify` and `rebuild`; `source` stands beside them."""

    labels: str | Path | None
    images: str | None
    groups: str | Path | None
    frost_textures: str | Path | None
    surrogate: str | Path | None
    device: str | None
    plugins: Sequence[str | Path] | None
    jobs: int | None


@dataclass(frozen=True, kw_only=True)
class RemakeOptions:
    """What is needed to make samples again.

    Parameters
    ----------
    source : str or Source, optional
        Where the samples came from; not needed for a build of ``sample``.
    labels : path, optional
        What `build` was given: it says where labels come from.
    images : str, optional
        The name of the dataset of images, for ``hdf5``. Splits, and what ``tree`` takes for images, are those of the
        records.
    groups : path, optional
        The CSV of groups that `build` was given: to compare it with the records, or where samples.jsonl is lost.
    frost_textures : path, optional
        The directory of the user's own frost textures that the data set was made with.
    surrogate : path, optional
        The file of the model whose gradients some of the sets follow. Another machine makes other pixels of those sets.
    device : str, optional
        Where the model computes: ``cpu`` by default, ``cuda``.
    plugins : sequence of str or path, optional
        The modules, or their files, of the corruptions that are not corruptset's. They are loaded, and held to the
        recorded source.
    jobs : int, optional
        Processes; by default one a core.
    """

    source: str | Source | None = None
    labels: str | Path | None = None
    images: str | None = None
    groups: str | Path | None = None
    frost_textures: str | Path | None = None
    surrogate: str | Path | None = None
    device: str | None = None
    plugins: Sequence[str | Path] | None = None
    jobs: int | None = None

    def __post_init__(self) -> None:
        load_plugins(self.plugins or ())

    @property
    def workers(self) -> int:
        """How many processes."""
        return worker_count(self.jobs)
