"""A set as a data set of Hugging Face's library `datasets`, which is imported only here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..images.pictures import png_bytes
from ..records.models import ClassRecord, SampleRecord
from .image_store import Pixels

if TYPE_CHECKING:
    from datasets import Dataset

    from .image_set import ImageSet, SampleTable


def hugging_face_dataset(images: ImageSet, samples: SampleTable, *, stored: bool) -> Dataset:
    """Return what `ImageSet.to_hf` returns; `stored` says whether the images are on a disk, or made when they are asked for."""
    try:
        from datasets import ClassLabel, Dataset, Features, Image, NamedSplit, Value
    except ImportError as e:
        raise ModuleNotFoundError(
            f"to_hf needs Hugging Face's datasets, which cannot be imported ({e}). Install it: pip install datasets"
        ) from e
    names = class_names(samples.classes)
    label = {"label": ClassLabel(names=names)} if names else {}
    features = Features({"image": Image(), **label, "id": Value("string")})
    given = {"images": images, "samples": samples, "stored": stored}
    return Dataset.from_generator(_rows, features=features, gen_kwargs=given, split=NamedSplit(images.record.role))


def class_names(classes: Sequence[ClassRecord]) -> list[str]:
    """Return the names of labels, or their folders where two are equal: two classes of ImageNet are called crane."""
    names = [c.name for c in classes]
    return names if len(set(names)) == len(names) else [c.folder for c in classes]


def encoded_rows(images: ImageSet, samples: Sequence[SampleRecord]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a set on a disk, each with the bytes of its image: JPEG as it is stored, pixels as PNG."""
    for i, sample in enumerate(samples):
        image = images.stored(i)[1]
        data = image.read_bytes() if isinstance(image, Path) else _encoded(image)
        yield {"image": {"bytes": data, "path": None}, "label": sample.label, "id": sample.id}


def _encoded(image: Pixels) -> bytes:
    return image.tobytes() if image.ndim == 1 else png_bytes(image)


def _rows(images: ImageSet, samples: SampleTable, stored: bool) -> Iterator[dict[str, Any]]:
    found = (images.stored(i)[1] for i in range(len(images))) if stored else images.images()
    for sample, image in zip(samples.records, found, strict=True):
        path, data = (str(image.absolute()), None) if isinstance(image, Path) else (None, _encoded(image))
        yield {"image": {"path": path, "bytes": data}, **({} if sample.label is None else {"label": sample.label}), "id": sample.id}
