"""The options of `verify` and `rebuild` that name what samples are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...corruptions.plugins import load_plugins
from ..plan.options import worker_count
from ..sources.source import Source


@dataclass(frozen=True, kw_only=True)
class RemakeOptions:
    """What is needed to make samples again; each field but `source` is as of `BuildOptions`.

    Parameters
    ----------
    source : str or Source, optional
        Where the samples came from, to make them again; not needed for ``sample``.
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
