"""Convert a set to a dataset for Hugging Face's library `datasets`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..images.image_formats import png_bytes
from ..records.models import ClassRecord, SampleRecord

if TYPE_CHECKING:
    from datasets import Dataset

    from .image_set import ImageSet, SampleTable


def hugging_face_dataset(images: ImageSet, samples: SampleTable, *, stored: bool) -> Dataset:
    """Return the result of `ImageSet.to_hf`. `stored` is False for virtual datasets, whose images are computed."""
    try:
        from datasets import ClassLabel, Dataset, Features, Image, NamedSplit, Value
    except ImportError as e:
        raise ModuleNotFoundError(
            f"to_hf needs Hugging Face's datasets, which cannot be imported ({e}). Install it: pip install datasets"
        ) from e
    names = class_names(samples.classes)
    label = {"label": ClassLabel(names=names)} if names else {}
    features = Features({"image": Image(), **label, "id": Value("string")})
    given = {"images": images, "samples": samples, "stored": stored, "files": True}
    return Dataset.from_generator(
        encoded_rows, features=features, gen_kwargs=given, split=NamedSplit(images.record.role)
    )


def class_names(classes: Sequence[ClassRecord]) -> list[str]:
    """Return the names of the classes, or their folders if two names are equal."""
    names = [c.name for c in classes]
    return names if len(set(names)) == len(names) else [c.folder for c in classes]


def encoded_rows(
    images: ImageSet, samples: Sequence[SampleRecord] | SampleTable, *, stored: bool = True, files: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a set with encoded images. Files and JPEGs are unchanged, and pixels are encoded as PNG.

    If `stored` is False, the images are computed. With `files`, rows of image files contain the path instead of the
    bytes.
    """
    encoded = (images.stored(i)[1] for i in range(len(images))) if stored else images.images()
    for sample, image in zip(samples if isinstance(samples, Sequence) else samples.each(), encoded, strict=True):
        path = data = None
        if not isinstance(image, Path):
            data = image.tobytes() if image.ndim == 1 else png_bytes(image)
        elif files:
            path = str(image.absolute())
        else:
            data = image.read_bytes()
        yield {
            "image": {"path": path, "bytes": data},
            **({} if sample.label is None else {"label": sample.label}),
            "id": sample.id,
        }
