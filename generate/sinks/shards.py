"""HDF5 shards: a run of consecutive samples of one set in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ...manifests.disk.large import write_large
from ...manifests.layout import shard_path
from ..pixels.encoding import Encoding
from ..sources.source import Sample
from .pixel_rows import PixelRows
from .sink import EncodedImage, Run, SetSink, Sink, file_record, json_text, row_records, stored_bytes


@dataclass(frozen=True)
class ShardSink(Sink):
    """Each set x run is one HDF5 file: of pixels where the encoding is lossless, else of the encoded bytes."""

    encoding: Encoding
    build: str
    """``<name> <version>``, an attribute of every shard."""
    container = "hdf5"

    @property
    def encodes(self) -> bool:  # type: ignore[override]
        """Whether encoded bytes are stored."""
        return not self.encoding.lossless

    @property
    def equal_shapes(self) -> str | None:  # type: ignore[override]
        """Arrays of pixels need equal shapes, encoded bytes do not."""
        return "HDF5 arrays" if self.encoding.lossless else None

    def stored_bytes(self, size: tuple[int, int]) -> int:
        return stored_bytes(self.encoding, size, "hdf5")

    def shard(self, set_id: str, run: Run) -> str:
        return shard_path(set_id, run.number)

    def open_set(self, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> SetSink:
        return _ShardSet(self, directory, set_id, run, samples)


class _ShardSet:
    def __init__(self, sink: ShardSink, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> None:
        self.records = [""] * run.count
        self.bytes = 0
        self._sink = sink
        self._directory = directory
        self._set_id = set_id
        self._run = run
        self._labels = [sample.class_index for sample in samples]
        self._pixels = PixelRows(set_id, run)
        self._encoded = [b""] * run.count
        self._path = shard_path(set_id, run.number)

    @property
    def rows(self) -> NDArray[np.uint8] | None:
        return self._pixels.images

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Keep pixels, or encoded bytes."""
        if self._sink.encoding.lossless:
            return self._pixels.put(positions, images)
        path = json_text(self._path)
        for position, image in zip(positions, encoded, strict=True):
            self._encoded[position] = image.data
            self.records[position] = file_record(path, position, len(image.data), image.sha256)
            self.bytes += len(image.data)
        return None

    def finish(self, pixel_hashes: Sequence[str]) -> Mapping[str, Any]:
        """Write the shard."""
        from ...manifests.images.shard_writer import shard_pieces  # a build of files does not need it

        pixels = self._pixels.images
        if pixels is not None:
            self.records = row_records(self._path, range(len(pixels)), pixels)
            self.bytes = pixels.nbytes
        pieces = shard_pieces(
            self._encoded if pixels is None else pixels,
            labels=self._labels,
            indices=range(self._run.first, self._run.stop),
            pixels=pixel_hashes,
            set_id=self._set_id,
            build=self._sink.build,
            encoding="raw" if self._sink.encoding.lossless else self._sink.encoding.format,
        )
        target = self._directory / self._path
        target.parent.mkdir(parents=True, exist_ok=True)
        size, sha256 = write_large(target, pieces)
        self._pixels.free()
        self._encoded = []
        return {"path": self._path, "bytes": size, "sha256": sha256}
