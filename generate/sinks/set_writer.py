"""Store the images of one set in one part, and compute their hashes and records.

Image files have paths such as ``images/<set id>/<class>/<sample id>.<JPEG|png>``. A shard is an HDF5 file with
consecutive samples of one set. It contains raw pixels if the encoding is lossless, and encoded images otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ...manifests.disk.atomic import make_folder, open_unlinked, write_large
from ...manifests.paths import shard_path
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import FileRecord
from ...pixels import pixel_hashes
from ..pixels.encoding import Encoding, encoding_of
from ..pixels.metrics import MeasuredRow, measure
from ..pixels.ms_ssim import ms_ssim
from ..sources.source import Sample
from .containers import Sink
from .sink import Chunk, file_record, json_text, row_records, rows_at


class SetWriter:
    """A writer for the images of one set in one chunk. Images are added batch by batch.

    `finish` may run in another thread while other sets are made.

    Parameters
    ----------
    set_id : str
    chunk : Chunk
    sinks : sequence of Sink
        The containers of the build.
    directory : Path or None
        The folder of the unfinished dataset. If None, no files are written, but all records are computed.
    encoding : Encoding
    samples : sequence of Sample
        The samples of the chunk.
    measured, multiscale : frozenset of int
        The indices of the samples for which metrics and MS-SSIM are measured.
    """

    def __init__(
        self, set_id: str, chunk: Chunk, sinks: Sequence[Sink], *, directory: Path | None, encoding: Encoding,
        samples: Sequence[Sample],
        measured: frozenset[int], multiscale: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self.pixels: list[str] = [""] * chunk.count
        """The hexadecimal BLAKE3 digests of the images' pixels, without a prefix. They are complete after `finish`."""
        self.metrics: dict[int, MeasuredRow] = {}
        """A mapping from the indices of measured samples to their metrics."""
        self.shard: FileRecord | None = None
        """The record of the HDF5 shard, if there is one."""
        self.byte_count = 0
        """The total size of the stored images, in bytes."""
        self.file_count = len(sinks) * chunk.count
        """The number of image files and shard rows."""
        self._set_id, self._chunk, self._directory, self._samples = set_id, chunk, directory, samples
        self._sinks = [(sink, [""] * chunk.count) for sink in sinks]
        """The sinks, each with a list of file records in JSON, one per image."""
        self._encoding = encoding if any(sink.encodes for sink in sinks) else None
        self._source_names = any(sink.source_names for sink in sinks)
        self._encoded = [b""] * chunk.count
        """The encoded images for a shard."""
        self._rows: NDArray[np.uint8] | None = None
        """All images of the chunk as an (N, H, W, C) array, if a sink stores raw pixels."""
        self._folders: set[str] = set()
        """The image folders that this writer has created."""
        self._measured, self._multiscale = measured, multiscale
        self._missing = chunk.count

    def add(self, positions: Sequence[int], images: Images, clean: Images) -> None:
        """Add images at some positions of the chunk. `images` and `clean` are (N, H, W, C) uint8 arrays."""
        images = np.ascontiguousarray(images)
        if self._encoding is not None:
            for position, image in zip(positions, images, strict=True):
                name = self._samples[position].path or "" if self._source_names else ""
                self._put(position, encoding_of(name, self._encoding).encode(image))
        if any(not sink.encodes for sink, _ in self._sinks):  # `finish` hashes all images, while the next set is made
            if self._rows is None:
                self._rows = np.empty((self._chunk.count, *images.shape[1:]), np.uint8)
            self._rows[rows_at(positions)] = images
        else:
            for position, digest in zip(positions, pixel_hashes(images), strict=True):
                self.pixels[position] = digest
        for position, before, after in zip(positions, clean, images, strict=True):
            if (index := self._chunk.first + position) in self._measured:
                self.metrics[index] = (
                    *measure(before, after),
                    ms_ssim(before, after) if index in self._multiscale else None,
                )
        self._missing -= len(positions)

    def _put(self, position: int, data: bytes) -> None:
        """Write an encoded image to a file, or keep it for a shard.

        Files are neither fsynced nor renamed into place. Only committed parts count, and if a build is killed, its
        uncommitted parts are written again.
        """
        sha256 = sha256_bytes(data)
        for sink, records in self._sinks:
            if not sink.encodes:
                continue
            row: int | None = None
            if sink.kind == "shards":
                self._encoded[position] = data
                path, row = shard_path(self._set_id, self._chunk.number), position
            else:
                path = sink.image_path(self._set_id, self._samples[position])
                self._write_image(path, data)
            records[position] = file_record(json_text(path), row, len(data), sha256)
            self.byte_count += len(data)

    def _write_image(self, path: str, data: bytes) -> None:
        if self._directory is None:
            return
        folder = path.rpartition("/")[0]
        if folder not in self._folders:
            make_folder(self._directory, folder)
            self._folders.add(folder)
        write_file(f"{os.fspath(self._directory)}/{path}", data)

    @property
    def is_complete(self) -> bool:
        """Whether all images have been added."""
        return not self._missing

    def finish(self) -> None:
        """Compute the remaining digests, write the shard, and free the images."""
        rows = self._rows
        if rows is not None:
            self.pixels = pixel_hashes(rows)
        for sink, records in self._sinks:
            if rows is not None and not sink.encodes:
                self.byte_count += rows.nbytes
            if sink.kind == "shards":
                self._write_shard(sink, records, rows)
        self._rows = None

    def _write_shard(self, sink: Sink, records: list[str], pixels: NDArray[np.uint8] | None) -> None:
        from ...manifests.images.shard_writer import shard_pieces  # only needed for shards

        path = shard_path(self._set_id, self._chunk.number)
        if pixels is not None:
            records[:] = row_records(path, 0, pixels)
        pieces = shard_pieces(
            self._encoded if pixels is None else pixels,
            labels=[sample.class_index for sample in self._samples],
            indices=range(self._chunk.first, self._chunk.stop),
            pixels=self.pixels,
            set_id=self._set_id,
            build=sink.title,
            encoding="raw" if sink.encoding.lossless else sink.encoding.format,
        )
        if self._directory is None:
            data = b"".join(map(bytes, pieces))
            size, sha256 = len(data), sha256_bytes(data)
        else:
            make_folder(self._directory, path.rpartition("/")[0])
            size, sha256 = write_large(self._directory / path, pieces)
        self.shard, self._encoded = FileRecord(path=path, bytes=size, sha256=sha256), []

    def lines(self) -> bytes:
        """Return the records of the images as JSON lines, in the order of the samples."""
        stored = zip(*(records for _, records in self._sinks), strict=True)
        rows = enumerate(zip(self.pixels, stored, strict=True), self._chunk.first)
        return "".join(
            [f'{{"index": {i}, "pixels": "blake3:{p}", "files": [{", ".join(files)}]}}\n' for i, (p, files) in rows]
        ).encode()


def write_file(path: str, data: bytes) -> None:
    """Write one image with few system calls.

    An existing file is overwritten without being emptied first, so that no reader sees a truncated file. Two workers
    may write the same image if one of them was considered dead.
    """
    fd = open_unlinked(path, os.O_WRONLY | os.O_CREAT)
    try:
        if os.fstat(fd).st_size > len(data):
            os.ftruncate(fd, len(data))
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(fd, remaining) :]
    except OSError as e:  # errors from os.write do not contain the path
        raise OSError(e.errno, e.strerror, path) from e
    finally:
        os.close(fd)
