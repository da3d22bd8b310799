"""Read MedMNIST files, and write MedMNIST-C files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corruptset.errors import BuildError, SourceError, format_list
from corruptset.generate.sources.labels import named_classes
from corruptset.generate.sources.rows import ImageRows, ReadResult, row_source
from corruptset.generate.sources.source import Source
from corruptset.generate.sources.tar_archives import reading_errors
from corruptset.manifests.reader import Dataset

PUBLISHED_NAMES: Mapping[str, str] = {
    "added_saturation": "saturate",
    "windowed_gaussian_blur": "gaussian_blur",
    **{f"rgb_{kind}_noise": f"{kind}_noise" for kind in ("gaussian", "speckle", "impulse", "shot")},
}
"""The published names of the corruptions that have different names in this package."""
SEVERITIES = range(1, 6)
_SPLITS = ("train", "val", "test")


def open_medmnist(path: Path, *, split: str = "test") -> Source:
    """Open a MedMNIST or MedMNIST+ file, such as ``bloodmnist_224.npz``.

    Each process holds the images of the split in memory, because the file is compressed. If images have several labels,
    each combination of labels is a class. The name of such a class has a digit for each label, such as ``0100``.

    Parameters
    ----------
    path : Path
        The .npz file with the arrays ``test_images`` and ``test_labels``, and those of the other splits.
    split : {"train", "val", "test"}

    Raises
    ------
    SourceError
        If the file is damaged or does not contain the expected arrays.
    """
    if split not in _SPLITS:
        raise SourceError(f"--split is {split!r}; expected one of {', '.join(_SPLITS)}.")
    return row_source("medmnist", [path], _read, path, split)


def _read(path: Path, split: str) -> ReadResult:
    with reading_errors(path):
        try:
            with path.open("rb") as stream, np.load(stream) as file:
                images, labels = file[f"{split}_images"], file[f"{split}_labels"]
        except (zipfile.BadZipFile, TypeError) as e:
            raise ValueError(f"expected a .npz file of MedMNIST ({e})") from None
    where = f"{path}: {split}_images", f"{path}: {split}_labels"
    if labels.ndim != 2 or len(labels) != len(images):
        raise SourceError(
            f"{where[1]} has the shape {labels.shape}; expected one row of labels for each of {len(images):,} images."
        )
    if labels.shape[1] == 1:
        return None, [ImageRows(split, images, labels[:, 0], where)]
    if not np.isin(labels, (0, 1)).all():
        raise SourceError(f"{where[1]} has values other than 0 and 1, and several labels per image.")
    combinations, label = np.unique(labels, axis=0, return_inverse=True)
    classes = named_classes(["".join(map(str, row)) for row in combinations.tolist()], where[1])
    return classes, [ImageRows(split, images, label.reshape(-1), where)]


def label_rows(data: Dataset) -> NDArray[np.uint8]:
    """Return the published labels of the samples, (N, labels). There is one column if each image has one label."""
    names = [data.classes[sample.class_index].name for sample in data.samples]
    several = len(names[0]) > 1 and all(set(one.name) <= set("01") for one in data.classes)
    rows = [[int(digit) for digit in name] for name in names] if several else [[int(name)] for name in names]
    return np.array(rows, np.uint8)


def by_corruption(data: Dataset, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return a mapping from published corruption names to the ids of the sets, in the order of severities.

    Raises
    ------
    BuildError
        If a corruption does not have all five severities, or if there are no corruptions.
    """
    names = dict.fromkeys(one.rpartition("/")[0] for one in ids if one != "clean")
    sets = {PUBLISHED_NAMES.get(name, name): [f"{name}/{severity}" for severity in SEVERITIES] for name in names}
    missing = [one for one in chain(*sets.values()) if one not in ids]
    if missing or not sets or len(sets) < len(names):
        raise BuildError(
            "MedMNIST-C needs every corruption at severities 1 to 5, with the same name at each severity. Missing "
            f"sets:\n{format_list(missing or ['all'])}\nBuild a recipe such as bloodmnist-c, or choose other --sets."
        )
    return sets


def export_medmnist_c(data: Dataset, ids: Sequence[str], folder: Path) -> dict[str, tuple[str, int]]:
    """Write one file per corruption, ``<dataset>/<corruption>.npz``, with ``test_images`` and ``test_labels``.

    The images at severities 1 to 5 are in consecutive rows. Grey images have the shape (5 * N, H, W), and colour
    images have the shape (5 * N, H, W, 3).
    """
    top, labels = data.manifest.name.removesuffix("-c"), label_rows(data)
    places: dict[str, tuple[str, int]] = {}
    for name, sets in by_corruption(data, ids).items():
        path = f"{top}/{name}.npz"
        (folder / top).mkdir(exist_ok=True)
        with zipfile.ZipFile(folder / path, "w") as file:
            _write_array(file, "test_images", len(SEVERITIES) * len(labels), _images(data, sets))
            _write_array(file, "test_labels", len(SEVERITIES) * len(labels), iter(np.tile(labels, (5, 1))))
        places |= {one: (path, row * len(labels)) for row, one in enumerate(sets)}
    return places


def _images(data: Dataset, sets: Sequence[str]) -> Iterator[NDArray[np.uint8]]:
    for one in sets:
        for image in data[one].images():
            yield image[..., 0] if image.shape[-1] == 1 else image


def _write_array(file: zipfile.ZipFile, name: str, count: int, rows: Iterator[NDArray[np.uint8]]) -> None:
    """Write an array row by row, because the rows may not fit into memory together."""
    first = next(rows)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (count, *first.shape)}
    )
    member = zipfile.ZipInfo(f"{name}.npy")  # The date is fixed, so that equal exports have equal bytes.
    member.compress_type = zipfile.ZIP_DEFLATED
    with file.open(member, "w", force_zip64=True) as stream:
        stream.write(header.getvalue())
        for row in chain([first], rows):
            stream.write(np.ascontiguousarray(row).tobytes())
