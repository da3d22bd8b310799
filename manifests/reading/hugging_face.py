"""A set as a data set of Hugging Face's library `datasets`, which is imported only here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..images.pictures import png_bytes
from .sample_table import SampleTable

if TYPE_CHECKING:
    from datasets import Dataset

    from .image_set import ImageSet


def hugging_face_dataset(images: ImageSet, samples: SampleTable) -> Dataset:
    """Return what `ImageSet.to_hf` returns."""
    try:
        from datasets import ClassLabel, Dataset, Features, Image, NamedSplit, Value
    except ImportError as e:
        raise ModuleNotFoundError(
            f"to_hf needs Hugging Face's datasets, which cannot be imported ({e}). Install it: pip install datasets"
        ) from e
    names = [c.name for c in samples.classes]
    if len(set(names)) < len(names):  # two classes of ImageNet are called crane; their folders differ
        names = [c.folder for c in samples.classes]
    features = Features({"image": Image(), "label": ClassLabel(names=names), "id": Value("string")})
    made = Dataset.from_generator(
        _rows, features=features, gen_kwargs={"images": images, "samples": samples}, split=NamedSplit(images.record.role)
    )
    assert isinstance(made, Dataset)
    return made


def _rows(images: ImageSet, samples: SampleTable) -> Iterator[dict[str, Any]]:
    for sample in samples.records:
        stored = images.stored(sample.index)[1]
        if isinstance(stored, Path):
            image: dict[str, Any] = {"path": str(stored.absolute()), "bytes": None}
        else:
            image = {"path": None, "bytes": stored.tobytes() if stored.ndim == 1 else png_bytes(stored)}
        yield {"image": image, "label": sample.label, "id": sample.id}
