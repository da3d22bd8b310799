"""The parts of a stream: one tar each, made by a worker, put in place whole, and told of by a sidecar."""

from __future__ import annotations

import io
import json
import tarfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.keys import hash64, sample_keys
from ...corruptions.random.philox import uniforms
from ...corruptions.stages import apply_stage, chain_keys
from ...digests import digest_of, digits
from ...manifests.disk.atomic import replacing
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.disk.large import LargeFile
from ...manifests.disk.lock import shared_lock
from ...manifests.layout import WORK_FOLDER, WORKERS_LOCK
from ...pixels import pixel_digest
from ..pixels.preprocessing import Unchanged
from ..plan.job import CheckedSample
from ..sources.source import Source
from ..work.worker import load_clean
from .crops import cropped, draw_crop
from .stream_recipe import StreamRecipe, cell_id
from .walk import STREAM_VERSION, Step

BATCH = 16
_ORDER = np.uint32(0)
"""The stream of the numbers that samples are sorted by."""


@dataclass(frozen=True)
class StreamJob:
    """Everything that a worker needs to know."""

    directory: Path
    """Where the tars go."""
    recipe: StreamRecipe
    source: Source
    samples: Sequence[CheckedSample]
    steps: Sequence[Step]
    seed: int
    identity: str
    """Hash of what the stream is: sidecars of another one count for nothing."""

    @property
    def length(self) -> int:
        """Images."""
        return self.recipe.stream.length

    @property
    def tars(self) -> int:
        """How many."""
        return -(-self.length // self.recipe.stream.tar)

    @cached_property
    def sample_keys(self) -> NDArray[np.uint64]:
        """Of the samples' ids."""
        return sample_keys(c.sample.id for c in self.samples)

    def tar(self, number: int) -> Path:
        """Return where a tar goes."""
        return self.directory / f"serial_{number:05d}.tar"

    def portions(self, number: int) -> Iterator[tuple[Step, range]]:
        """Yield the steps that a tar has images of, and the places of those in the stream."""
        start = number * self.recipe.stream.tar
        stop = min(start + self.recipe.stream.tar, self.length)
        at = bisect_right(self.steps, start, key=lambda step: step.first) - 1
        for step in self.steps[at:]:
            if step.first >= stop:
                return
            yield step, range(max(start, step.first), min(stop, step.first + step.count))

    def sample_order(self, step: Step, round_: int) -> NDArray[np.int64]:
        """Return the samples in the order of a step; where it has more images than there are samples, in that of one of its rounds."""
        key = hash64(["stream", STREAM_VERSION, self.seed, "order", step.number, round_])
        return np.argsort(uniforms(key, self.sample_keys, _ORDER, 0.0, 1.0), kind="stable")


@dataclass(frozen=True)
class Tar:
    """A finished tar."""

    size: int
    """Bytes."""
    sha256: str
    count: int
    pixels: bytes
    """The images' 32-byte digests, in order."""


def read_sidecar(job: StreamJob, number: int) -> Tar | None:
    """Return what is known of a tar; None where it is not finished, or another stream's."""
    data = read_hashed(_sidecar(job, number))
    if data is None:
        return None
    head, _, pixels = data.partition(b"\n")
    record = json.loads(head)
    there = job.tar(number)
    if record.pop("identity") != job.identity or not there.is_file() or there.stat().st_size != record["size"]:
        return None
    return Tar(**record, pixels=pixels)


def make_tar(job: StreamJob, number: int) -> int:
    """Make and commit a tar, and return how many images it has.

    Raises
    ------
    SourceError
        A sample cannot be read any more, or is no longer the one that was checked.
    OSError
        The disk is full or fails.
    """
    with shared_lock(job.directory / WORKERS_LOCK):
        digests: list[bytes] = []
        with (
            replacing(job.tar(number)) as part,
            LargeFile(part) as file,
            tarfile.TarFile(part, "w", fileobj=file, format=tarfile.GNU_FORMAT) as archive,  # type: ignore[arg-type]
        ):
            for members, digest in _images(job, number):
                digests.append(digest)
                for name, data in members:
                    info = tarfile.TarInfo(name)
                    info.size, info.mode = len(data), 0o644
                    archive.addfile(info, io.BytesIO(data))
        record = {"identity": job.identity, "size": file.written, "sha256": digest_of(file.sha256), "count": len(digests)}
        write_hashed(_sidecar(job, number), json.dumps(record).encode() + b"\n", b"".join(digests))
    return len(digests)


def _sidecar(job: StreamJob, number: int) -> Path:
    return job.directory / WORK_FOLDER / f"serial_{number:05d}.json"


def _images(job: StreamJob, number: int) -> Iterator[tuple[list[tuple[str, bytes]], bytes]]:
    """Yield every image of a tar as its members and the digest of its pixels."""
    table = job.recipe.table()
    for step, places in job.portions(number):
        stages = job.recipe.stages(step.cell)
        keys = chain_keys(stages, job.seed)
        orders: dict[int, NDArray[np.int64]] = {}
        for start in range(places.start, places.stop, BATCH):
            batch = range(start, min(start + BATCH, places.stop))
            visits = []
            for place in batch:
                round_, at = divmod(place - step.first, len(job.samples))
                if round_ not in orders:
                    orders = {round_: job.sample_order(step, round_)}
                visits.append(_Visit(job, place, job.samples[int(orders[round_][at])]))
            images = np.stack([visit.image for visit in visits])
            names = sample_keys(visit.key for visit in visits)
            for stage, key in zip(stages, keys, strict=True):
                side = table.of(stage.corruption).side
                images = apply_stage(images, stage, key, names, side=side, scale=job.recipe.scale)
            for visit, image in zip(visits, images, strict=True):
                yield visit.members(step, image), bytes.fromhex(digits(pixel_digest(image)))


class _Visit:
    """One image of the stream: a sample that comes by."""

    def __init__(self, job: StreamJob, place: int, chosen: CheckedSample) -> None:
        self.place, self.sample, self.recipe = place, chosen.sample, job.recipe
        self.key = f"{chosen.sample.id}@{place}"
        """What its random draws follow from."""
        spec = job.recipe.preprocessing
        self.crop: dict[str, Any] = {}
        if job.recipe.stream.crops == "preprocessing":
            self.image = load_clean(job.source, chosen, spec)
            return
        whole = load_clean(job.source, chosen, Unchanged(kind="none", channels="keep" if spec.channels == "keep" else "rgb"))
        height, width = whole.shape[:2]
        box, flipped = draw_crop(width, height, ["stream", STREAM_VERSION, job.seed, "crop", self.key])
        self.image = cropped(whole, box, flipped, spec.size(width, height), getattr(spec, "interpolation", "bilinear"))
        self.crop = {"crop": list(box), "flipped": flipped}

    def members(self, step: Step, image: NDArray[np.uint8]) -> list[tuple[str, bytes]]:
        """Return the members of a tar for the image after its corruptions."""
        name = f"sample_{self.place:08d}"
        info = {"id": self.sample.id, "place": self.place, "step": step.number, "set": cell_id(step.cell), "key": self.key, **self.crop}
        return [
            (f"{name}.info", json.dumps(info, ensure_ascii=False).encode()),
            (f"{name}.input.jpg", self.recipe.encoding.encode(image)),
            *([] if self.sample.label is None else [(f"{name}.output.cls", str(self.sample.label).encode())]),
        ]
