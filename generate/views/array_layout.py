"""Views of arrays: rows of images in .npy files, labels beside them."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError
from ...manifests.images.arrays import ArrayFile, NotAShard, npy_header
from .layout import Found, Layout, Place
from .writer import Writer

if TYPE_CHECKING:
    from ...manifests.reader import DataSet, ImageSet

BLOCK = 512
"""Images written at once."""


@dataclass(frozen=True)
class ArrayPlan:
    """One array: after each other, the chosen samples of each of its sets."""

    path: str
    sets: tuple[str, ...]
    samples: Sequence[int]

    @property
    def rows(self) -> int:
        """How many images."""
        return len(self.sets) * len(self.samples)


class ArrayLayout(Layout):
    """Subclasses say which arrays there are, and which arrays of labels."""

    @abstractmethod
    def arrays(self) -> Sequence[ArrayPlan]:
        """Return every array of images."""

    @abstractmethod
    def labels(self) -> Mapping[str, NDArray[np.generic]]:
        """Return path -> array of labels."""

    def places(self) -> Sequence[Place]:
        """Return the rows of every array."""
        return [
            Place(set_id, plan.path, k * len(plan.samples), len(plan.samples))
            for plan in self.arrays()
            for k, set_id in enumerate(plan.sets)
        ]

    def write(self, data: DataSet, writer: Writer) -> None:
        """Write every array, then the labels."""
        for plan in self.arrays():
            shape = data[plan.sets[0]].image(0).shape
            writer.array(plan.path, (plan.rows, *shape), np.uint8, self._blocks(data, plan, shape, writer))
        for path, text in self.texts({}):
            writer.text(path, text)
        if data.manifest.encoding["format"] == "jpeg":
            self.notes.append("The build stores JPEG: the arrays hold its images as decoded, so their digests are not the manifest's.")

    def _blocks(self, data: DataSet, plan: ArrayPlan, shape: tuple[int, ...], writer: Writer) -> Iterator[NDArray[np.uint8]]:
        for set_id in plan.sets:
            block: list[NDArray[np.uint8]] = []
            for image in _chosen(data[set_id], plan.samples):
                if image.shape != shape:
                    raise BuildError(
                        f"Images of set {set_id} have the shapes {shape} and {image.shape}, which do not fit into one array. "
                        "Choose a view of image files, or build with a preprocessing that makes all images equal."
                    )
                block.append(image)
                if len(block) == BLOCK:
                    yield np.stack(block)
                    block.clear()
            if block:
                yield np.stack(block)
            writer.count(len(plan.samples))

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield the arrays of labels."""
        for path, labels in self.labels().items():
            yield path, npy_header(labels.shape, labels.dtype.type) + labels.tobytes()

    def found(self, root: Path) -> Iterator[Found]:
        """Yield the rows of every array."""
        for plan in self.arrays():
            rows: ArrayFile | None = None
            with contextlib.suppress(NotAShard, OSError):
                rows = ArrayFile(root / plan.path)
            for k, set_id in enumerate(plan.sets):
                for n, index in enumerate(plan.samples):
                    row = k * len(plan.samples) + n
                    good = rows is not None and rows.rows == plan.rows
                    yield Found(set_id, index, plan.path, f"#{row}", rows.images[row] if good and rows is not None else None)

    def paths(self) -> Iterator[str]:
        """Yield every array."""
        yield from (plan.path for plan in self.arrays())
        yield from self.labels()

    def in_build(self, set_id: str, index: int) -> tuple[str, int | None]:
        """Return where ``build --view`` puts an image."""
        plan, start, at = next(where for where in self._where[set_id] if index in where[2])
        return plan.path, start + at[index]

    @cached_property
    def _where(self) -> dict[str, list[tuple[ArrayPlan, int, Mapping[int, int]]]]:
        """Set id -> (array, its first row there, sample -> row after that)."""
        found: dict[str, list[tuple[ArrayPlan, int, Mapping[int, int]]]] = {}
        at: dict[int, Mapping[int, int]] = {}
        for plan in self.arrays():
            rows = at.setdefault(id(plan.samples), {sample: n for n, sample in enumerate(plan.samples)})
            for k, set_id in enumerate(plan.sets):
                found.setdefault(set_id, []).append((plan, k * len(plan.samples), rows))
        return found

    def whole_files(self) -> Iterator[str]:
        """Yield every array of images."""
        yield from (plan.path for plan in self.arrays())

    def rows_of(self, path: str) -> int:
        """Return how many rows an array has."""
        return self._rows[path]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {plan.path: plan.rows for plan in self.arrays()}


def _chosen(images: ImageSet, samples: Sequence[int]) -> Iterator[NDArray[np.uint8]]:
    if len(samples) == len(images):
        yield from images.images()
    else:
        yield from (images.image(i) for i in samples)
