"""Which sinks a build has: from its format, or from its view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...manifests.records.models import ClassRecord
from ..pixels.encoding import Encoding
from ..views.view import View
from .arrays import ArraySink
from .files import FileSink
from .shards import ShardSink
from .sink import Sink, stored_bytes

Format = Literal["folder", "hdf5", "both"]
BOTH_BELOW = 2 * 10**9
"""Bytes in both containers together, below which both are written by default."""
SMALL_SIDE = 64


def default_format(encoding: Encoding, sizes: Sequence[tuple[int, int]], size: tuple[int, int], images: int) -> Format:
    """Return the containers of a build whose user named none; `sizes` are those of clean images, `size` is their mean."""
    if encoding.lossless and len(set(sizes)) > 1:
        return "folder"  # images of several sizes do not fit into arrays
    if images * sum(stored_bytes(encoding, size, c) for c in ("folder", "hdf5")) < BOTH_BELOW:
        return "both"
    return "hdf5" if min(size) < SMALL_SIDE else "folder"


def make_sinks(
    form: Format | None, view: View | None, *, encoding: Encoding, classes: Sequence[ClassRecord], title: str
) -> tuple[Sink, ...]:
    """Return where images go: into the files or arrays of a view, if there is one, else into containers."""
    files = FileSink(encoding, tuple(c.folder for c in classes), view)
    if view is not None:
        return (ArraySink(encoding, view) if view.array_rows else files,)
    return (*([files] if form != "hdf5" else []), *([ShardSink(encoding, title)] if form != "folder" else []))


def containers_of(sinks: Sequence[Sink]) -> tuple[str, ...]:
    """Return the ``containers`` of a manifest."""
    return tuple(sink.container for sink in sinks)


def format_of(containers: Sequence[str]) -> Format | None:
    """Return the format that a manifest's ``containers`` are; None for a view."""
    formats: dict[tuple[str, ...], Format] = {("folder",): "folder", ("hdf5",): "hdf5", ("folder", "hdf5"): "both"}
    return formats.get(tuple(containers))
