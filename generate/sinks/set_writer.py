"""What a part makes of one set: each image hashed, put into every sink, and described in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...corruptions.registry import Images
from ...manifests.records.digests import sha256_bytes
from ...pixels import pixel_hashes
from ..pixels.encoding import Encoding, encoding_of
from ..pixels.metrics import MeasuredRow, measure
from ..pixels.ms_ssim import ms_ssim
from ..sources.source import Sample
from .containers import Sink
from .sink import EncodedImage, Run


class SetWriter:
    """The images of one set x one run; `add` takes them batch by batch, `finish` may run in another thread meanwhile for other sets."""

    def __init__(
        self, set_id: str, run: Run, sinks: Sequence[Sink], *, directory: Path, encoding: Encoding, samples: Sequence[Sample],
        measured: frozenset[int], multiscale: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self.pixels: list[str] = [""] * run.count
        """BLAKE3 of each image's pixels, hexadecimal, without a prefix; complete after `finish`."""
        self.metrics: dict[int, MeasuredRow] = {}
        """Sample -> its metrics, of some."""
        self.shard: dict[str, object] | None = None
        """path, bytes and sha256 of the set's shard."""
        self._run = run
        self._sets = [sink.open_set(directory, set_id, run, samples) for sink in sinks]
        self._names = [s.path or "" if any(sink.own_names for sink in sinks) else "" for s in samples]
        self._encoding = encoding if any(sink.encodes for sink in sinks) else None
        self._measured, self._multiscale = measured, multiscale
        self._missing = run.count

    def add(self, positions: Sequence[int], images: Images, clean: Images) -> None:
        """Put images away.

        Parameters
        ----------
        positions : sequence of int
            Where they stand in the run.
        images, clean : (N, H, W, C) ndarray of uint8

        Raises
        ------
        BuildError
            Images of different shapes were to go into one array.
        MachineError
            An image cannot be encoded.
        OSError
            The disk is full or fails.
        """
        images = np.ascontiguousarray(images)
        encoded: list[EncodedImage] = []
        if self._encoding is not None:
            data = [encoding_of(self._names[p], self._encoding).encode(image) for p, image in zip(positions, images, strict=True)]
            encoded = [EncodedImage(one, sha256_bytes(one)) for one in data]
        for sink_set in self._sets:
            sink_set.put(positions, images, encoded)
        if all(sink_set.rows is None for sink_set in self._sets):  # else `finish` hashes all of them, while the next set is made
            for position, digest in zip(positions, pixel_hashes(images), strict=True):
                self.pixels[position] = digest
        for position, before, after in zip(positions, clean, images, strict=True):
            if (index := self._run.first + position) in self._measured:
                self.metrics[index] = (*measure(before, after), ms_ssim(before, after) if index in self._multiscale else None)
        self._missing -= len(positions)

    @property
    def whole(self) -> bool:
        """Say whether all images are there."""
        return not self._missing

    def finish(self) -> None:
        """Write what is written once per run, and free the images."""
        rows = next((sink_set.rows for sink_set in self._sets if sink_set.rows is not None), None)
        if rows is not None:
            self.pixels = pixel_hashes(rows)
        for sink_set in self._sets:
            shard = sink_set.finish(self.pixels)
            self.shard = self.shard if shard is None else dict(shard)

    @property
    def file_count(self) -> int:
        """How many files and rows of arrays there are of the images."""
        return len(self._sets) * self._run.count

    @property
    def byte_count(self) -> int:
        """Of those, together."""
        return sum(sink_set.bytes for sink_set in self._sets)

    def lines(self) -> bytes:
        """Return the rows of the set's records: JSON lines, in sample order."""
        stored = zip(*(sink_set.records for sink_set in self._sets), strict=True)
        rows = enumerate(zip(self.pixels, stored, strict=True), self._run.first)
        return "".join([f'{{"index": {i}, "pixels": "blake3:{p}", "files": [{", ".join(files)}]}}\n' for i, (p, files) in rows]).encode()
