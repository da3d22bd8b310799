"""The images of one set as a map-style dataset, and the table of samples."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ...errors import VerificationError
from ..disk.jsonl import RowTable
from ..images.image_formats import to_pil
from ..records.models import ClassRecord, ImageRecord, SampleRecord, SetRecord, StoredRecord, check_label
from .image_store import BLOCK_BYTES, Container, ImageStore, Pixels, StoredImages
from .notebook import TILE_COUNT, figure, image_strip

T_co = TypeVar("T_co", covariant=True)
if TYPE_CHECKING:
    from datasets import Dataset
    from torch.utils.data import Dataset as TorchDataset

    # PyTorch's stubs require a subclass of its Dataset, which is Any if PyTorch is not installed
    class MapStyle(Sequence[T_co], TorchDataset[T_co]):  # type: ignore[misc, unused-ignore]
        """A map-style dataset. At run time it is a plain sequence, so that PyTorch is not imported."""

    Many = slice | Sequence[int] | NDArray[Any]
else:
    MapStyle = Sequence
Labels = NDArray[np.int64]


class SampleTable(RowTable[SampleRecord]):
    """The rows of samples.jsonl, with the classes that their labels refer to."""

    def __init__(self, path: Path, counts: Iterable[int], classes: Sequence[ClassRecord]) -> None:
        super().__init__(path, SampleRecord, counts)
        self.classes = classes

    def _read(self) -> Iterator[SampleRecord]:
        for sample in super()._read():
            check_label(sample, self.classes)
            yield sample

    @cached_property
    def label_list(self) -> list[int]:
        """The class index of every sample, or None for samples without labels."""
        same: dict[int | None, int | None] = {}  # equal labels share one object, so that an entry takes 8 bytes
        return [same.setdefault(s.label, s.label) for s in self.each()]  # type: ignore[misc]  # not None with labels

    @cached_property
    def labels(self) -> Labels:
        """The class indices of all samples as an (N,) int64 array. An error is raised if samples have no labels."""
        return np.fromiter((s.class_index for s in self.each()), dtype=np.int64)

    @cached_property
    def ids(self) -> list[str]:
        """The id of every sample."""
        return [s.id for s in self.each()]


class SetId(str):
    """The id of a set. ``s.id`` is ``fog/3``, and ``s.id(7)`` is the id of sample 7."""

    _sample_id: Callable[[SupportsIndex], str]

    def __call__(self, index: SupportsIndex) -> str:
        return self._sample_id(index)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class ImageSet(MapStyle[tuple[Pixels, int]]):
    """The images of one set, in the order of the samples.

    ``s[i]`` and iteration give pairs ``(image, label)``, which data loaders accept. The image is an (H, W, C) array of
    uint8 with C = 1 or 3. The label is an int, or None if the source has no labels. A slice, a list or array of
    indices, or an array of N booleans gives two arrays. For example, ``images, labels = s[2:5]`` gives three images,
    (3, H, W, C) of uint8, and three labels, (3,) of int64.

    ``s.image(i)``, ``s.label(i)`` and ``s.id(i)`` return one value each. Negative indices count from the end.

    Sets can be pickled, and used in forked or spawned workers. Each process opens its own shards.

    Attributes
    ----------
    record : SetRecord
        The record of the set in the manifest: id, aliases, stages, role, count, digest, metrics.
    """

    def __init__(self, build: str, record: SetRecord, samples: SampleTable, store: ImageStore) -> None:
        self._build = build
        self.record = record
        self._samples = samples
        self._store = store

    @property
    def rows(self) -> Sequence[ImageRecord]:
        """The records of the images. They are read on first access."""
        return self._store.rows

    @property
    def id(self) -> SetId:
        """The id of the set. ``id(i)`` is the id of sample i."""
        id = SetId(self.record.id)
        id._sample_id = self._sample_id
        return id

    def _sample_id(self, index: SupportsIndex) -> str:
        return self._samples.ids[self._number(index)]

    @property
    def labels(self) -> Labels:
        """The class indices of all images as an (N,) int64 array. An error is raised if the source has no labels."""
        return self._samples.labels.copy()

    def label(self, index: SupportsIndex) -> int:
        """Return the class index of an image, or None if the source has no labels."""
        return self._samples.label_list[self._number(index)]

    @property
    def ids(self) -> list[str]:
        """The sample ids."""
        return list(self._samples.ids)

    def __len__(self) -> int:
        return self.record.count

    # An array of one number is also an index. A slice gives arrays, not a list of items.
    @overload  # type: ignore[override]
    def __getitem__(self, index: Many) -> tuple[Pixels, Labels]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, index: SupportsIndex) -> tuple[Pixels, int]: ...
    def __getitem__(self, index: Any) -> tuple[Pixels, int] | tuple[Pixels, Labels]:
        if _is_integer(index):
            i = self._number(index)
            return self.image(i), self._samples.label_list[i]
        chosen = self._numbers(index)
        labels = self._samples.labels[chosen] if self._samples.classes else [None] * len(chosen)
        return self._stacked(chosen.tolist()), labels  # type: ignore[return-value]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Pixels, int]]:
        """Return the items of a batch, for PyTorch's data loaders."""
        chosen = self._numbers(list(indices))
        labels = [self._samples.label_list[i] for i in chosen.tolist()]
        return list(zip(self._store.images(chosen.tolist()), labels, strict=True))

    def image(self, index: SupportsIndex) -> Pixels:
        """Return an image without its label, (H, W, C) of uint8."""
        return next(self._store.images([self._number(index)]))

    def single(self, index: SupportsIndex) -> Pixels:
        """Return an image as `image` does, without reading the records of the other images."""
        return self._store.single(self._number(index))

    def _number(self, index: SupportsIndex) -> int:
        try:
            return range(len(self))[operator.index(index)]
        except TypeError:
            raise TypeError(
                f"an image of set {self.record.id!r} is indexed by an integer, not by {index!r}. For several images, "
                "use a slice or a list, such as s[2:5] or s[[0, 7]]"
            ) from None
        except IndexError:
            raise IndexError(f"set {self.record.id!r} has {len(self)} images; there is no image {index}") from None

    def _numbers(self, index: Many) -> NDArray[np.intp]:
        """Convert a slice, indices or booleans to non-negative indices."""
        if isinstance(index, slice):
            return np.arange(len(self))[index]
        chosen = np.asarray(index)
        kind = "i" if chosen.size == 0 else chosen.dtype.kind
        if (
            isinstance(index, tuple)
            or chosen.ndim != 1
            or kind not in "iub"
            or (kind == "b" and len(chosen) != len(self))
        ):
            raise TypeError(
                f"set {self.record.id!r} is indexed by an integer, a slice, a list or array of integers, or "
                f"{len(self)} booleans, not by {index!r}"
            )
        if kind == "b":
            return np.flatnonzero(chosen)
        if (wrong := chosen[(chosen < -len(self)) | (chosen >= len(self))]).size:
            raise IndexError(f"set {self.record.id!r} has {len(self)} images; there is no image {wrong[0]}")
        return chosen.astype(np.intp) % max(len(self), 1)

    def _stacked(self, indices: Sequence[int]) -> Pixels:
        """Return images as one array, or raise `ValueError` if their sizes differ."""
        stack: Pixels | None = None
        for place, (i, image) in enumerate(zip(indices, self._store.images(indices), strict=True)):
            if stack is None:
                stack = np.empty((len(indices), *image.shape), np.uint8)
            elif image.shape != stack.shape[1:]:
                raise ValueError(
                    f"set {self.record.id!r} has images of different sizes, which do not fit into one array: image "
                    f"{indices[0]} is {_size(stack[0])}, image {i} is {_size(image)} (H x W x C). Iterate over single "
                    "images (`for image, label in s`). For batches, resize the images with with_transform, or use "
                    "your own collate function."
                )
            stack[place] = image
        if stack is None:
            return np.empty((0, *(self.image(0).shape if len(self) else (0, 0, 3))), np.uint8)
        return stack

    def verify(self) -> str:
        """Read or compute every image, check the pixel digest of the set, and return this digest.

        Raises
        ------
        VerificationError
            The digest differs, or the pixels before encoding are not available, because the images are stored as JPEG.
        """
        digest = self._store.pixel_digest()
        if digest != self.record.pixel_digest:
            raise VerificationError(
                f"The set {self.record.id!r} of {self._build} has the digest {digest}, but "
                f"{self.record.pixel_digest} is recorded. Run `corruptset verify` to find the changed images."
            )
        return digest

    @property
    def encoding(self) -> str:
        """The format of the images, ``png`` or ``jpeg``. With ``png``, shards hold raw pixels."""
        return self._store.encoding

    def stored(self, index: int, *, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return the record of an image, and its file or its row in a shard (pixels or encoded bytes)."""
        return self._store.stored(index, prefer)

    def images(self, *, block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield the images in the order of the samples. Shards are read in blocks of at most `block_bytes` bytes."""
        return self._store.images(range(len(self)), block_bytes)

    def array(self) -> Pixels:
        """Return all images as one (N, H, W, C) array of uint8.

        Raises
        ------
        ValueError
            The images have different sizes.
        """
        return self._stacked(range(len(self)))

    def with_transform(
        self, transform: Callable[[Any], Any] | None = None, target_transform: Callable[[int], Any] | None = None
    ) -> TransformedSet:
        """Return the same set with transformed items, as in torchvision's datasets.

        Parameters
        ----------
        transform : callable, optional
            A function that takes a Pillow image in mode RGB or L. By default, images remain (H, W, C) arrays of uint8.
        target_transform : callable, optional
            A function that takes a label, an int.

        Returns
        -------
        TransformedSet
        """
        return TransformedSet(self, transform, target_transform)

    def to_hf(self) -> Dataset:
        """Return a Hugging Face dataset with the columns image, label and id.

        Image files are not copied, and are opened on access. Images in shards are copied into the cache of `datasets`,
        JPEGs unchanged and pixels as PNG. The name of the split is the role of the set: test, validation or train.

        Raises
        ------
        ModuleNotFoundError
            `datasets` is not installed.
        """
        from .hugging_face import hugging_face_dataset

        return hugging_face_dataset(self, self._samples, stored=isinstance(self._store, StoredImages))

    def __iter__(self) -> Iterator[tuple[Pixels, int]]:
        return zip(self.images(), self._samples.label_list, strict=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.record.id!r} of {self._build}: {len(self)} images>"

    def _repr_html_(self) -> str:
        shown = min(len(self), TILE_COUNT)
        names = [record.class_ or record.id for record in map(self._samples.record, range(shown))]
        return figure(repr(self), lambda: image_strip([self.single(i) for i in range(shown)]), ", ".join(names))


class TransformedSet(ImageSet):
    """An `ImageSet` with transformed items: ``s[i]`` is ``(transform(image), target_transform(label))``.

    A slice or a list of indices gives a list of images and a list of labels. Other methods, such as `image`, `labels`
    and `array`, return untransformed values.
    """

    def __init__(
        self, images: ImageSet, transform: Callable[[Any], Any] | None, target_transform: Callable[[int], Any] | None
    ) -> None:
        super().__init__(images._build, images.record, images._samples, images._store)
        self.transform = transform
        self.target_transform = target_transform

    def _item(self, pair: tuple[Pixels, int]) -> tuple[Any, Any]:
        image, label = pair
        return (
            image if self.transform is None else self.transform(to_pil(image)),
            label if self.target_transform is None else self.target_transform(label),
        )

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        if _is_integer(index):
            return self._item(super().__getitem__(index))
        items = self.__getitems__(self._numbers(index).tolist())
        return [image for image, _ in items], [label for _, label in items]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, Any]]:
        return [self._item(pair) for pair in super().__getitems__(indices)]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return map(self._item, super().__iter__())


def _is_integer(index: Any) -> bool:
    """Return whether an index is a single integer, and not an array."""
    return hasattr(index, "__index__") and getattr(index, "ndim", 0) == 0


def _size(image: Pixels) -> str:
    return "x".join(map(str, image.shape))
