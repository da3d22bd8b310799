"""HDF5 shards: a run of consecutive samples of one set in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...corruptions.registry import Images
from ...manifests.disk.large import write_large
from ...manifests.layout import shard_path
from ..sources.source import Sample
from .sink import EncodedImage, Run, SetSink, file_record, json_text, row_records

if TYPE_CHECKING:
    from .containers import Sink


class ShardSet(SetSink):
    """One HDF5 file: of pixels where the encoding is lossless, else of the encoded bytes."""

    def __init__(self, sink: Sink, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> None:
        super().__init__(sink, directory, set_id, run, samples)
        self._encoded = [b""] * run.count

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Keep pixels, or encoded bytes."""
        if self.sink.encoding.lossless:
            return super().put(positions, images, encoded)
        path = json_text(shard_path(self.set_id, self.run.number))
        for position, image in zip(positions, encoded, strict=True):
            self._encoded[position] = image.data
            self.records[position] = file_record(path, position, len(image.data), image.sha256)
            self.bytes += len(image.data)
        return None

    def finish(self, pixel_hashes: Sequence[str]) -> Mapping[str, Any]:
        """Write the shard."""
        from ...manifests.images.shard_writer import shard_pieces  # a build of files does not need it

        path, pixels, encoding = shard_path(self.set_id, self.run.number), self.rows, self.sink.encoding
        if pixels is not None:
            self.records = row_records(path, range(len(pixels)), pixels)
            self.bytes = pixels.nbytes
        pieces = shard_pieces(
            self._encoded if pixels is None else pixels,
            labels=[sample.class_index for sample in self.samples],
            indices=range(self.run.first, self.run.stop),
            pixels=pixel_hashes,
            set_id=self.set_id,
            build=self.sink.title,
            encoding="raw" if encoding.lossless else encoding.format,
        )
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        size, sha256 = write_large(target, pieces)
        self.free()
        self._encoded = []
        return {"path": path, "bytes": size, "sha256": sha256}
