"""The source ``npy:IMAGES,LABELS``: two .npy files, one of images, one of labels; ids are ``data/<row>``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.stages import LEAST_SIDE
from ...errors import SourceError
from ...files import file_problem
from ...manifests.images.arrays import NotAShard, map_array
from .decoding import MAX_PIXELS
from .labels import numbered_classes, whole_labels
from .places import reading
from .rows import Rows, RowSource, Table


def open(rest: str, *, labels: Path | None = None) -> RowSource:
    """Open two .npy files; nothing is read but their heads and the labels.

    Raises
    ------
    SourceError
        Not two paths, no .npy files, images that are not uint8 (N, H, W) or (N, H, W, 1 or 3), labels that are no whole
        numbers, from 0 upwards, one an image.
    """
    first, comma, second = rest.rpartition(",")
    if labels is not None or not comma or not first or not second:
        raise SourceError("The source npy needs two files: npy:IMAGES,LABELS, both .npy; --labels is not for it.")
    files = [Path(name).expanduser().resolve() for name in (first, second)]
    for path in files:
        if (what := file_problem(path)) is not None:
            raise SourceError(f"The source npy: {path} {what}. Expected npy:IMAGES,LABELS, two .npy files.")
    return RowSource("npy", files, _read, *files, width=1)


def _read(images_path: Path, labels_path: Path) -> Rows:
    images = _mapped(images_path)
    shape = image_shape(images.dtype, images.shape, str(images_path))
    if not images.flags.c_contiguous:
        raise SourceError(
            f"{images_path} is stored column by column (Fortran order). Save it again: np.save(path, np.ascontiguousarray(x))."
        )
    labels = whole_labels(_mapped(labels_path), len(images), str(labels_path))
    return numbered_classes(int(labels.max())), [Table("data", images.reshape(-1, *shape), labels)]


def _mapped(path: Path) -> NDArray[Any]:
    """Return an array as it lies in its file."""
    try:
        with reading(path):
            return map_array(path)[0]
    except NotAShard as e:
        if "object" in str(e).lower():
            raise SourceError(
                f"{path} holds Python objects, which are not read: they could run anything. Save plain numbers: "
                "np.save(path, np.stack(x)), uint8 for images."
            ) from None
        raise SourceError(f"{path} is not a .npy file, or a cut one ({e}). Expected what np.save writes.") from None


def image_shape(dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> tuple[int, int, int]:
    """Return (H, W, C) of an array of images, or refuse it."""
    if dtype != np.uint8:
        hint = " (0..1 times 255, rounded?)" if dtype.kind == "f" else ""
        raise SourceError(f"{where} holds {dtype}; expected uint8, 0 to 255. Convert it as it was meant{hint} and save it again.")
    if len(shape) == 3:
        shape = (*shape, 1)
    if len(shape) == 4 and shape[3] not in (1, 3) and shape[1] in (1, 3):
        raise SourceError(f"{where} has the shape {shape}, channels first; expected (N, H, W, C): save x.transpose(0, 2, 3, 1).")
    if len(shape) != 4 or shape[3] not in (1, 3) or shape[0] < 1 or min(shape[1:3]) < LEAST_SIDE:
        raise SourceError(
            f"{where} has the shape {shape}; expected (N, H, W), (N, H, W, 1) or (N, H, W, 3), H and W at least {LEAST_SIDE}."
        )
    if shape[1] * shape[2] > MAX_PIXELS:
        raise SourceError(f"{where} has images of {shape[1]}x{shape[2]}, more than the {MAX_PIXELS:,} pixels that one image may have.")
    return shape[1], shape[2], shape[3]
