"""Virtual data sets: records of a release and its source, opened as one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...arguments import check_choice
from ...errors import VerificationError
from ...manifests.images.image_formats import decode
from ...manifests.reader import Dataset
from ...manifests.reading.image_store import BLOCK_BYTES, Container, Pixels, StoredImages
from ...manifests.records.digests import set_digest
from ...manifests.records.models import ImageRecord, SetRecord
from ...manifests.records.report import ProgressCallback
from ...manifests.release.release import has_rows, read_release
from ...pixels import pixel_digest
from ...progress import progress_function, shows_progress
from ..plan.builds import CheckedBuild
from ..plan.parts import batches
from ..plan.tree import Node
from ..sources.source import Source
from .agreement import clean_difference, differences, held_to_records, refuse_unrecorded_code
from .inputs import RemakeOptions, release_folder
from .recorded_build import recorded_build, specs_of

Check = Literal["first", "each", "never"]
CHECKS = ("first", "each", "never")
EVERY = 1000
"""With ``check="first"``, images whose index is a multiple of this are compared, and the first that a process makes of
each set.
"""
KEPT_BYTES = 64 << 20
"""Bytes of clean images and beginnings of chains that a process keeps."""
Chain = tuple[Node, ...]
"""The nodes of a set, from the clean one to its own."""


@shows_progress("open")
def open_virtual(
    place: str | Path,
    source: str | Source,
    *,
    check: Check = "first",
    progress: ProgressCallback | bool | None = None,
    **options: Any,
) -> Dataset:
    """Open the records of a release with its source; `corruptset.open` describes the parameters.

    Raises
    ------
    SourceError
        The source is not the recorded one.
    VerificationError
        The records contradict each other; or corruptions, parameters or textures are others here; or no set can be
        made.
    ParameterError
        `check` is none of the three.
    """
    check_choice("check", check, CHECKS)
    images = VirtualImages(release_folder(place), RemakeOptions(source=source, **options), check)
    return VirtualDataset(images, progress_function(progress))


class VirtualDataset(Dataset):
    """A data set whose images are made when asked for, without sets of a model."""

    def __init__(self, images: VirtualImages, progress: ProgressCallback) -> None:
        super().__init__(images.path, store_of=partial(VirtualSet, images), sets=images.open(progress))
        self._samples = images.data._samples  # which are read once

    def _why_absent(self, set_id: str) -> str:
        return (
            f"The set {set_id!r} follows the gradients of a model, which another machine computes otherwise, so it is "
            f"not made when it is asked for. `corruptset rebuild {self.path} --sets {set_id} --source SOURCE "
            "--surrogate FILE.toml` makes one like it."
        )


class VirtualImages:
    """The images of all sets of a release, made again.

    Into a worker that is spawned travels what was opened, not what was found there: it lists the source again.
    """

    def __init__(self, path: Path, options: RemakeOptions, check: Check) -> None:
        self.path, self.options, self.check = path, options, check
        self._begun: set[str] = set()
        self._kept: OrderedDict[tuple[int, int], Pixels] = OrderedDict()
        self._kept_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        # loaded where this is unpickled, also those that the parent has imported itself
        plugins = self.build.maker.plugins
        state = {"path": self.path, "options": self.options, "check": self.check, "_plugins": plugins}
        return state | {"_begun": set(), "_kept": OrderedDict(), "_kept_bytes": 0}

    @cached_property
    def data(self) -> Dataset:
        """The records."""
        return Dataset(self.path)

    @cached_property
    def build(self) -> CheckedBuild:
        """The build that the records are of, with the sets that can be made."""
        refuse_unrecorded_code(self.data)
        makeable = [s.id for s in specs_of(self.data.manifest) if not s.needs_surrogate]
        if not makeable:
            raise VerificationError(
                f"All sets of {self.data.name} follow the gradients of a model, which another machine computes "
                "otherwise: they cannot be made when they are asked for. Use a release with images, or `corruptset "
                "rebuild --surrogate FILE.toml`."
            )
        return recorded_build(self.data, self.options, sets=makeable)

    @cached_property
    def chains(self) -> dict[str, Chain]:
        """Set -> its chain, in the order of the walk."""
        return dict(_chains(self.build.maker.tree(self.build.chosen(self.build.requested)), ()))

    def open(self, progress: ProgressCallback) -> Sequence[str]:
        """Return the ids of the sets that can be made, once the source is checked.

        All of it is read, and hashed, but for ``check="never"``: then an image is compared only when it is read.
        """
        read_release(self.data, ())
        if self.check != "never":
            held_to_records(self.data, self.build.source, self.build.source.fingerprint, progress)
        return list(self.chains)  # they are made here, so that forked workers share them

    def make(self, record: SetRecord, indices: Sequence[int]) -> Iterator[Pixels]:
        """Yield images of a set as they are read from a disk, JPEGs decoded."""
        for index, image in zip(indices, self.pixels(record.id, indices), strict=True):
            if self.check == "each" or (self.check == "first" and (index % EVERY == 0 or record.id not in self._begun)):
                self._begun.add(record.id)
                self._compare(record.id, index, image)
            encoding = self.build.encoding_of(self.build.samples[index].sample)
            yield image if encoding.lossless else decode(encoding.encode(image), encoding.format)

    def _compare(self, set_id: str, index: int, image: Pixels) -> None:
        """Raise if an image is not the recorded one."""
        # clean pixels first: they are known of every release
        difference = clean_difference(self.data, index, self.clean(index))
        if difference is None and has_rows(self.data, set_id):
            difference = next(
                (text for _, text in differences(self.data, set_id, index, image, self.build.encoding, raw=False)), None
            )
        if difference is not None:
            raise VerificationError(f"{self.data.name}: {difference}")

    def clean(self, index: int) -> Pixels:
        """Return the clean image of a sample, (H, W, C), not to be changed."""
        return self._start(next(iter(self.chains.values()))[:1], index)[1]

    def pixels(self, set_id: str, indices: Sequence[int]) -> list[Pixels]:
        """Return images of a set, (H, W, C) each, before they are encoded.

        Raises
        ------
        SourceError
            A sample cannot be read, or is not the recorded one.
        """
        chain = self.chains[set_id]
        starts = [self._start(chain, index) for index in indices]
        made = [image.copy() for _, image in starts]
        for depth, node in enumerate(chain[1:], 1):
            left = [position for position, (there, _) in enumerate(starts) if there < depth]
            step = Node(None, node.key, children={b"": replace(node, set_id="", children={})})
            for batch in batches([made[p] for p in left]):
                some = [left[p] for p in batch]
                ids = [self.data.samples[indices[p]].id for p in some]
                ((_, images),) = self.build.maker.images(step, np.stack([made[p] for p in some]), ids)
                for p, image in zip(some, images, strict=True):
                    made[p] = image
                    if len(node.children) + (node.set_id is not None) > 1:  # other sets begin with it
                        self._keep(node, indices[p], image.copy())
        return made

    def _start(self, chain: Chain, index: int) -> tuple[int, Pixels]:
        """Return the longest kept beginning of a chain, or the clean image: depth, image."""
        for depth in range(len(chain) - 1, -1, -1):
            if (image := self._kept.get((index, id(chain[depth])))) is not None:
                self._kept.move_to_end((index, id(chain[depth])))
                return depth, image
        self._keep(chain[0], index, image := self.build.clean(index))
        return 0, image

    def _keep(self, node: Node, index: int, image: Pixels) -> None:
        """Keep an image, and drop those that were not asked for longest."""
        if (index, id(node)) in self._kept:
            return
        self._kept[index, id(node)] = image
        self._kept_bytes += image.nbytes
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= self._kept.popitem(last=False)[1].nbytes


def _chains(node: Node, above: Chain) -> Iterator[tuple[str, Chain]]:
    chain = (*above, node)
    if node.set_id is not None:
        yield node.set_id, chain
    for child in node.children.values():
        yield from _chains(child, chain)


class VirtualSet:
    """An `ImageStore` whose images are made.

    Parameters
    ----------
    images : VirtualImages
    record : SetRecord
    """

    def __init__(self, images: VirtualImages, record: SetRecord) -> None:
        self._images, self._record = images, record

    @property
    def encoding(self) -> str:
        """``png`` or ``jpeg``: how the images would be stored."""
        return self._images.build.encoding.format

    @property
    def rows(self) -> Sequence[ImageRecord]:
        """The records of the images, where the release has them."""
        return StoredImages(self._images.path, self._record, self.encoding).rows

    def image(self, index: int) -> Pixels:
        """Make one image."""
        return next(self._images.make(self._record, [index]))

    single = image

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Make images; those of one shape together."""
        for block in self._blocks(indices, block_bytes):
            yield from self._images.make(self._record, block)

    def _blocks(self, indices: Sequence[int], block_bytes: int) -> Iterator[Sequence[int]]:
        length = max(1, block_bytes // (3 * prod(self._images.build.image_size)))
        return (indices[start : start + length] for start in range(0, len(indices), length))

    def stored(self, index: int, prefer: Container | None = None) -> Any:
        """Raise: nothing is stored."""
        raise VerificationError(
            f"The images of {self._images.path} are made when they are asked for, and stored nowhere. `corruptset "
            "rebuild` stores them."
        )

    def pixel_digest(self) -> str:
        """Return the set's digest, of all images made again."""
        blocks = self._blocks(range(self._record.count), BLOCK_BYTES)
        return set_digest(
            pixel_digest(image) for block in blocks for image in self._images.pixels(self._record.id, block)
        )
