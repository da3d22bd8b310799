"""Find the sets in corrupted datasets on disk, in all supported layouts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SourceError, first_few
from ..manifests.paths import MANIFEST
from .found_set import FoundData, FoundSet, array_header, file_header, file_pixels, row_reader
from .names import corruption_name, parsed_id
from .own_dataset import read_dataset

IMAGES = (".jpeg", ".jpg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".gif")
_NUMBER = r"[0-9]|10|[0-9]{1,2}\.[0-9]{2}"
"""The names of folders that stand for severities."""
_DEEPEST = 4
"""The maximum number of nested folders from the data folder to a set: benchmark, group, corruption and severity."""


def read_data(path: Path) -> FoundData:
    """Return the sets in a folder or an array file. Raise `SourceError` if no set is found."""
    if not path.exists():
        raise SourceError(f"{path} does not exist. Pass the folder of a corrupted dataset, or one of its archives.")
    if path.is_file():
        if path.suffix != ".npy":
            raise SourceError(
                f"{path} is not a folder, and its checksum is not that of a published archive. If it is an archive, "
                "unpack it and audit the folder."
            )
        return _arrays([path], path.parent)
    if (path / MANIFEST).is_file():
        return read_dataset(path)
    arrays = [file for file in sorted(path.glob("*.npy")) if file.is_file() and _is_inside(file, path)]
    named = [file for file in arrays if corruption_name(file.stem) is not None]
    if named:
        return _arrays(named, path)
    if mnist := _mnist_folders(path):
        return _mnist(mnist)
    inner = [folder for folder in _folders(path) if any((folder / n).is_file() for n in ("labels.npy", MANIFEST))]
    if len(inner) == 1 and not any(corruption_name(folder.name) for folder in _folders(path)):
        return read_data(inner[0])
    sets, links = list(_tree(path)), _links_out(path)
    if not sets:
        entries = sorted(entry.name for entry in os.scandir(path))
        contents = f"It contains {first_few(entries)}" if entries else "It is empty"
        raise SourceError(
            f"No corrupted dataset was recognised in {path}. {contents}.{links} Expected arrays such as fog.npy, "
            "folders such as fog/3/n01440764, or a dataset of corruptset."
        )
    classes = sorted({str(found.label(i)) for found in sets[:1] for i in range(found.count)})
    remarks = [("missing_sets", links.strip())] if links else []
    return FoundData(sets, "folders of images", classes=classes, remarks=remarks)


def _links_out(path: Path) -> str:
    """Return a sentence about the symbolic links that lead out of a folder, or an empty string if there are none."""
    names = sorted(entry.name for entry in os.scandir(path) if not _is_inside(Path(entry.path), path))
    return (
        f" Links that lead out of the folder are not followed: {first_few(names)}. Audit their targets instead."
        if names
        else ""
    )


def _is_inside(path: Path, root: Path) -> bool:
    """Return whether a path stays inside a folder after symbolic links are resolved."""
    return not path.is_symlink() or path.resolve().is_relative_to(root.resolve())


def _folders(path: Path) -> list[Path]:
    with os.scandir(path) as entries:
        found = [Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    return sorted(folder for folder in found if _is_inside(folder, path))


def open_array(path: Path) -> NDArray[Any]:
    """Open an array file without reading its values. Raise `SourceError` if it is damaged or pickled."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as e:
        if "Python objects" in str(e) or "allow_pickle" in str(e):
            raise SourceError(
                f"{path.name} contains pickled Python objects. They are not read, because unpickling can run code. "
                "Save the file as an array of bytes."
            ) from None
        raise SourceError(
            f"{path.name} cannot be read as an array ({str(e).partition(chr(10))[0]}). It is truncated, or it is not a "
            ".npy file. Copy it again from the original."
        ) from None
    return array


def _labels(folder: Path, remarks: list[tuple[str, str]]) -> NDArray[Any] | None:
    """Return the labels that belong to arrays. If they cannot be read, add a remark and return None."""
    file = folder / "labels.npy"
    if not file.is_file() or not _is_inside(file, folder):
        return None
    try:
        return open_array(file)
    except SourceError as e:
        remarks.append(("other_labels", f"{e} Labels were not compared."))
        return None


def _arrays(files: Sequence[Path], folder: Path) -> FoundData:
    """Return the sets in array files that contain five severities each, as in CIFAR-10-C."""
    sets, remarks = list[FoundSet](), list[tuple[str, str]]()
    labels = _labels(folder, remarks)
    for file in files:
        try:
            array = open_array(file)
        except SourceError as e:
            remarks.append(("unreadable_images", str(e)))
            continue
        if array.dtype != np.uint8 or array.ndim not in (3, 4) or not len(array):
            remarks.append(
                (
                    "unreadable_images",
                    f"{file.name} has the shape {array.shape} and the type {array.dtype}; expected bytes of the shape "
                    "(images, height, width, channels). It was not compared.",
                )
            )
            continue
        severities, rows = 5, len(array)
        if rows % 5:
            severities = 1
            remarks.append(
                (
                    "missing_images",
                    f"{file.name} has {rows:,} rows, which cannot be divided equally among five severities. All rows "
                    "were compared as one set. Loaders that split the file into equal parts return wrong images, so "
                    "download the file again.",
                )
            )
        corruption, size = corruption_name(file.stem), rows // severities
        own_labels = labels if labels is not None and len(labels) in (rows, size) else None
        if labels is not None and own_labels is None:
            text = f"labels.npy has {len(labels):,} labels, and {file.name} has {rows:,} images. Copy both again."
            remarks.append(("other_labels", text))
        for severity in range(1, severities + 1):
            first = (severity - 1) * size
            shift = first if own_labels is not None and len(own_labels) == rows else 0
            sets.append(
                FoundSet(
                    id=f"{file.stem}/{severity}" if severities == 5 else file.stem,
                    corruption=corruption,
                    severity=severity if severities == 5 else None,
                    keys=range_keys(size),
                    named=False,
                    read=row_reader(array[first : first + size]),
                    header=array_header,
                    label=partial(_row_label, own_labels, shift),
                    file=file,
                    row=first,
                )
            )
    if not sets:
        raise SourceError("\n".join(text for _, text in remarks))
    return FoundData(sets, "arrays of five severities", remarks=remarks)


def range_keys(count: int) -> list[str]:
    """Return the row numbers of an array as keys."""
    return list(map(str, range(count)))


def _row_label(labels: NDArray[Any] | None, shift: int, index: int) -> int | None:
    return None if labels is None else int(labels[shift + index])


def _mnist_folders(path: Path) -> list[Path]:
    candidates = [path, *_folders(path)]
    candidates += [inner for folder in _folders(path) if folder.name == "mnist_c" for inner in _folders(folder)]
    return [folder for folder in candidates if any(folder.glob("*_images.npy"))]


def _mnist(folders: Sequence[Path]) -> FoundData:
    sets = []
    for folder in folders:
        for split in ("test", "train"):
            images, labels = folder / f"{split}_images.npy", folder / f"{split}_labels.npy"
            if not (images.is_file() and _is_inside(images, folder)):
                continue
            array = open_array(images)
            sets.append(
                FoundSet(
                    id=folder.name if split == "test" else f"{folder.name} (train)",
                    corruption=corruption_name(folder.name),
                    severity=None,
                    keys=range_keys(len(array)),
                    named=False,
                    read=row_reader(array),
                    header=array_header,
                    label=partial(_row_label, open_array(labels) if labels.is_file() else None, 0),
                    file=images,
                )
            )
    return FoundData(sets, "arrays of MNIST-C", name="mnist-c")


def _tree(root: Path) -> Iterator[FoundSet]:
    """Yield the sets in a folder tree ``<set>/<severity>/<class>/<image>``, which may be inside group folders."""
    shared: dict[str, str] = {}
    for folder in sorted(_set_folders(root, 0)):
        relative = folder.relative_to(root).as_posix() if folder != root else folder.name
        name = relative if folder != root else f"{folder.parent.name}/{folder.name}"
        corruption, severity = parsed_id(name)
        numbered = severity is not None or re.fullmatch(_NUMBER, folder.name) is not None
        shown = "/".join(name.split("/")[-2:]) if numbered else name.rpartition("/")[2]
        files = list(_image_files(folder, shared))
        if files:
            yield _folder_set(shown, corruption, severity, folder, files, shared)


def _set_folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders that contain one set each: severities of a corruption, or corruptions without severities."""
    inner = _folders(folder)
    corruption, numbers = corruption_name(folder.name), [f for f in inner if re.fullmatch(_NUMBER, f.name)]
    parent = corruption_name(folder.parent.name)
    if re.fullmatch(_NUMBER, folder.name) and (parent is not None or depth > 0) and not numbers:
        yield folder
    elif numbers and len(numbers) == len(inner) and (corruption is not None or _has_classes(numbers[0])):
        yield from numbers
    elif corruption is not None and inner:
        yield folder
    elif depth < _DEEPEST and not _is_class(folder):
        if depth and inner and all(_is_class(f) for f in inner[:3]) and not any(corruption_name(f.name) for f in inner):
            yield folder
            return
        for next_folder in inner:
            yield from _set_folders(next_folder, depth + 1)


def _has_classes(folder: Path) -> bool:
    return any(_is_class(inner) for inner in _folders(folder)[:3])


def _is_class(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(entry.name.lower().endswith(IMAGES) for entry in entries)


def _image_files(folder: Path, shared: dict[str, str]) -> Iterator[str]:
    """Yield the sorted paths of image files below a folder. Equal paths in different sets share one string."""
    names = []
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and _is_inside(Path(entry.path), folder):
            with os.scandir(entry.path) as inner:
                names += [
                    f"{entry.name}/{file.name}"
                    for file in sorted(inner, key=lambda file: file.name)
                    if file.name.lower().endswith(IMAGES)
                    and not file.name.startswith(".")
                    and not _leaves(file, folder)
                ]
        elif entry.name.lower().endswith(IMAGES) and not _leaves(entry, folder):
            names.append(entry.name)
    for name in names:
        yield shared.setdefault(name, name)


def _leaves(entry: os.DirEntry[str], folder: Path) -> bool:
    return entry.is_symlink() and not _is_inside(Path(entry.path), folder)


def _folder_set(
    id: str,
    corruption: str | None,
    severity: int | None,
    folder: Path,
    files: Sequence[str],
    shared: dict[str, str],
) -> FoundSet:
    keys = [file.rpartition("/")[2].rpartition(".")[0] for file in files]
    if len(set(keys)) < len(keys):
        keys = [file.rpartition(".")[0] for file in files]
    keys = [shared.setdefault(key, key) for key in keys]
    return FoundSet(
        id=id,
        corruption=corruption,
        severity=severity,
        keys=keys,
        named=True,
        read=lambda index: file_pixels(folder / files[index]),
        header=lambda index: file_header(folder / files[index]),
        label=lambda index: files[index].rpartition("/")[0] or None,
    )
