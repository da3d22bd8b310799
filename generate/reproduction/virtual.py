"""Virtual datasets: datasets whose images are computed from the records of a release and its source."""

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
from .agreement import clean_difference, differences, match_records, refuse_unrecorded_code
from .inputs import RemakeOptions, release_folder
from .recorded_build import recorded_build, specs_of

Check = Literal["first", "each", "never"]
CHECKS = ("first", "each", "never")
CHECK_INTERVAL = 1000
"""With ``check="first"``, each process compares images whose index is a multiple of this number, and the first image
that the process computes in each set.
"""
CACHE_BYTES = 64 << 20
"""The largest size, in bytes, of the clean images and intermediate images that a process caches."""
Chain = tuple[Node, ...]
"""The path from the clean images to a set in the tree of stages, as a sequence of nodes."""


@shows_progress("open")
def open_virtual(
    place: str | Path,
    source: str | Source,
    *,
    check: Check = "first",
    progress: ProgressCallback | bool | None = None,
    **options: Any,
) -> Dataset:
    """Open the records of a release together with its source. `corruptset.open` describes the parameters.

    Raises
    ------
    SourceError
        The source is not the recorded one.
    VerificationError
        The records contradict each other, or corruptions, parameters or textures differ from the recorded ones. The
        error is also raised if all sets were made with a model's gradients.
    ParameterError
        `check` is not one of the three values.
    """
    check_choice("check", check, CHECKS)
    images = VirtualImages(release_folder(place), RemakeOptions(source=source, **options), check)
    return VirtualDataset(images, progress_function(progress))


class VirtualDataset(Dataset):
    """A dataset whose images are computed on access. Sets that were made with a model's gradients are absent."""

    def __init__(self, images: VirtualImages, progress: ProgressCallback) -> None:
        super().__init__(images.path, store_of=partial(VirtualSet, images), sets=images.open(progress))
        self._samples = images.data._samples  # shared, so that samples.jsonl is read only once

    def _why_absent(self, set_id: str) -> str:
        return (
            f"The set {set_id!r} was made with the gradients of a model. Gradients differ slightly between machines, "
            "so the set is not available without stored images. To make a similar set, run `corruptset rebuild "
            f"{self.path} --sets {set_id} --source SOURCE --surrogate FILE.toml`."
        )


class VirtualImages:
    """The images of all sets of a release, which are computed from the source.

    Pickling this object for a worker process omits the source and the cache. The worker opens the source again.

    Parameters
    ----------
    path : Path
        The folder that contains the manifest.json of the release.
    options : RemakeOptions
        The source and its options.
    check : {"first", "each", "never"}
        The images to compare with their digests, as for `corruptset.open`.
    """

    def __init__(self, path: Path, options: RemakeOptions, check: Check) -> None:
        self.path, self.options, self.check = path, options, check
        self._checked_sets: set[str] = set()
        """The ids of sets in which at least one image has been compared."""
        self._cache: OrderedDict[tuple[int, int], Pixels] = OrderedDict()
        """A mapping from (sample index, id of the node) to images. The most recently used image is at the end."""
        self._cached_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        # Plugins are part of the state, because unpickling them also loads plugins that only the parent has imported.
        plugins = self.build.maker.plugins
        state = {"path": self.path, "options": self.options, "check": self.check, "_plugins": plugins}
        return state | {"_checked_sets": set(), "_cache": OrderedDict(), "_cached_bytes": 0}

    @cached_property
    def data(self) -> Dataset:
        """The records of the release."""
        return Dataset(self.path)

    @cached_property
    def build(self) -> CheckedBuild:
        """The build that the records describe, without sets that were made with a model's gradients."""
        refuse_unrecorded_code(self.data)
        makeable = [s.id for s in specs_of(self.data.manifest) if not s.needs_surrogate]
        if not makeable:
            raise VerificationError(
                f"All sets of {self.data.name} were made with the gradients of a model. Gradients differ slightly "
                "between machines, so these sets are not available without stored images. Use a release with images, "
                "or make similar sets with `corruptset rebuild --surrogate FILE.toml`."
            )
        return recorded_build(self.data, self.options, sets=makeable)

    @cached_property
    def chains(self) -> dict[str, Chain]:
        """A mapping from set ids to chains, in the order of a depth-first traversal of the tree."""
        return dict(_chains(self.build.maker.tree(self.build.chosen(self.build.requested)), ()))

    def open(self, progress: ProgressCallback) -> Sequence[str]:
        """Check the source, and return the ids of the sets that can be computed.

        All files of the source are hashed. With ``check="never"``, each file is checked when it is read instead.
        """
        read_release(self.data, ())
        if self.check != "never":
            match_records(self.data, self.build.source, self.build.source.fingerprint, progress)
        return list(self.chains)  # computed here, so that forked workers share the chains

    def load(self, record: SetRecord, indices: Sequence[int]) -> Iterator[Pixels]:
        """Yield images of a set as they would be read from stored files, including JPEG losses."""
        for index, image in zip(indices, self.pixels(record.id, indices), strict=True):
            due = index % CHECK_INTERVAL == 0 or record.id not in self._checked_sets
            if self.check == "each" or (self.check == "first" and due):
                self._checked_sets.add(record.id)
                self._compare(record.id, index, image)
            encoding = self.build.encoding_of(self.build.samples[index].sample)
            yield image if encoding.lossless else decode(encoding.encode(image), encoding.format)

    def _compare(self, set_id: str, index: int, image: Pixels) -> None:
        """Raise `VerificationError` if an image or its clean image differs from the records."""
        # The clean image is always compared, because every release records digests of clean images.
        difference = clean_difference(self.data, index, self.clean(index))
        if difference is None and has_rows(self.data, set_id):
            difference = next(
                (text for _, text in differences(self.data, set_id, index, image, self.build.encoding, raw=False)), None
            )
        if difference is not None:
            raise VerificationError(f"{self.data.name}: {difference}")

    def clean(self, index: int) -> Pixels:
        """Return the clean (H, W, C) image of a sample. Callers must not modify it."""
        return self._longest_cached(next(iter(self.chains.values()))[:1], index)[1]

    def pixels(self, set_id: str, indices: Sequence[int]) -> list[Pixels]:
        """Return images of a set as (H, W, C) arrays, before they are encoded.

        Raises
        ------
        SourceError
            A sample cannot be read, or is not the recorded one.
        """
        chain = self.chains[set_id]
        cached = [self._longest_cached(chain, index) for index in indices]
        current = [image.copy() for _, image in cached]
        for depth, node in enumerate(chain[1:], 1):
            unfinished = [position for position, (cached_depth, _) in enumerate(cached) if cached_depth < depth]
            step = Node(None, node.key, children={b"": replace(node, set_id="", children={})})
            for batch in batches([current[p] for p in unfinished]):
                positions = [unfinished[p] for p in batch]
                ids = [self.data.samples[indices[p]].id for p in positions]
                ((_, images),) = self.build.maker.images(step, np.stack([current[p] for p in positions]), ids)
                for p, image in zip(positions, images, strict=True):
                    current[p] = image
                    if len(node.children) + (node.set_id is not None) > 1:  # other sets share these stages
                        self._add_to_cache(node, indices[p], image.copy())
        return current

    def _longest_cached(self, chain: Chain, index: int) -> tuple[int, Pixels]:
        """Find the cached image of a sample to which the most stages of a chain have been applied.

        Returns the number of these stages, and the image. If the cache has no image of the sample on this chain, the
        clean image is loaded, and the number is 0.
        """
        for depth in range(len(chain) - 1, -1, -1):
            if (image := self._cache.get((index, id(chain[depth])))) is not None:
                self._cache.move_to_end((index, id(chain[depth])))
                return depth, image
        self._add_to_cache(chain[0], index, image := self.build.clean(index))
        return 0, image

    def _add_to_cache(self, node: Node, index: int, image: Pixels) -> None:
        """Add an image to the cache. If the cache becomes too large, remove the least recently used images."""
        if (index, id(node)) in self._cache:
            return
        self._cache[index, id(node)] = image
        self._cached_bytes += image.nbytes
        while self._cached_bytes > CACHE_BYTES and len(self._cache) > 1:
            self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes


def _chains(node: Node, above: Chain) -> Iterator[tuple[str, Chain]]:
    """Yield the id and the chain of each set at or below a node."""
    chain = (*above, node)
    if node.set_id is not None:
        yield node.set_id, chain
    for child in node.children.values():
        yield from _chains(child, chain)


class VirtualSet:
    """An `ImageStore` that computes the images of one set.

    Parameters
    ----------
    images : VirtualImages
        The images of all sets.
    record : SetRecord
        The record of the set.
    """

    def __init__(self, images: VirtualImages, record: SetRecord) -> None:
        self._images, self._record = images, record

    @property
    def encoding(self) -> str:
        """The format in which a build stores the images, ``png`` or ``jpeg``."""
        return self._images.build.encoding.format

    @property
    def rows(self) -> Sequence[ImageRecord]:
        """The records of the images, if the release contains them."""
        return StoredImages(self._images.path, self._record, self.encoding).rows

    def image(self, index: int) -> Pixels:
        """Return one image."""
        return next(self._images.load(self._record, [index]))

    single = image

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield images. They are computed in blocks of at most `block_bytes` bytes."""
        for block in self._blocks(indices, block_bytes):
            yield from self._images.load(self._record, block)

    def _blocks(self, indices: Sequence[int], block_bytes: int) -> Iterator[Sequence[int]]:
        length = max(1, block_bytes // (3 * prod(self._images.build.image_size)))
        return (indices[start : start + length] for start in range(0, len(indices), length))

    def stored(self, index: int, prefer: Container | None = None) -> Any:
        """Raise `VerificationError`, because a virtual dataset stores no images."""
        raise VerificationError(
            f"{self._images.path} has no stored images, because it is a virtual dataset. To store them, run "
            "`corruptset rebuild`."
        )

    def pixel_digest(self) -> str:
        """Compute all images of the set, and return the pixel digest of the set."""
        blocks = self._blocks(range(self._record.count), BLOCK_BYTES)
        return set_digest(
            pixel_digest(image) for block in blocks for image in self._images.pixels(self._record.id, block)
        )
