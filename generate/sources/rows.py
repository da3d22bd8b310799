"""Sources whose images are rows of arrays, such as ``npy:IMAGES,LABELS``. Samples keep the order of the rows."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...corruptions.stages import MIN_SIDE
from ...errors import SourceError
from ...files import file_problem
from ...manifests.images.arrays import NotAShard, map_array
from ...manifests.records.models import ClassRecord
from .decoding import MAX_PIXELS, BadSample
from .labels import MAX_LABEL, integer_labels, numbered_classes
from .source import Sample, Source
from .tar_archives import FileVersion, file_version, reading_errors


class ImageRows(NamedTuple):
    """Images of one shape with their labels and groups."""

    split: str | None
    images: Any
    """An array (N, H, W, C) or (N, H, W), or a dataset whose rows are read on demand."""
    labels: NDArray[Any]
    where: tuple[str, str]
    """Names of the images and of the labels for error messages."""
    groups: Sequence[str] = ()
    encoded: bool = False
    """True if each row contains the bytes of an image file."""
    remark: str | None = None
    """A note for users if the labels are whole numbers that are stored as floats."""


ReadResult = tuple[tuple[ClassRecord, ...] | None, list[ImageRows]]
"""The result of reading files: the classes, or None if classes have no names, and the tables of images, which are not
yet checked.
"""


def row_source(
    scheme: str, files: Sequence[Path], read: Callable[..., ReadResult], *arguments: Any, width: int = 5
) -> Source:
    """Return a source whose samples are the rows of one or more tables. Ids are ``<split>/<row>``.

    The sha256 of a sample is computed from its pixel bytes in C order (H, W, C), so it does not depend on the file
    format. For rows that are image files, it is computed from the bytes of the file.

    Parameters
    ----------
    scheme : str
        Name of the source in the manifest.
    files : sequence of Path
        The files that are read. If one of them changes, all files are read again.
    read : callable
        A function that reads the files. It is called once, with the arguments, in every process that loads a row.
    *arguments
        Hashable arguments of `read`.
    width : int
        Number of digits of the row number in an id.
    """
    rows = functools.partial(_rows, tuple(files), read, arguments)
    classes, tables = rows()
    samples: list[Sample] = []
    rows_of: Counter[str | None] = Counter()
    for split, _, labels, _, groups, *_ in tables:
        for row, label in enumerate(labels.tolist()):
            name = f"{split or 'data'}/{rows_of[split] + row:0{width}d}"
            samples.append(Sample(len(samples), name, label, None, split, groups[row] if groups else None))
        rows_of[split] += len(labels)
    memory_bytes = sum(table.images.nbytes for table in tables if type(table.images) is np.ndarray)
    remarks = tuple(table.remark for table in tables if table.remark is not None)
    load = functools.partial(_load, rows)
    return Source(scheme, tuple(samples), classes or (), load, memory_bytes=memory_bytes, remarks=remarks)


def _load(rows: Callable[[], ReadResult], sample: Sample) -> bytes | NDArray[np.uint8]:
    index = sample.index
    try:
        for table in rows()[1]:
            if index < len(table.images):
                image = np.array(table.images[index], np.uint8, order="C")
                return image.tobytes() if table.encoded else np.atleast_3d(image)
            index -= len(table.images)
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
    raise BadSample("cannot be read any more: its file has fewer rows than before")


def _rows(files: tuple[Path, ...], read: Callable[..., ReadResult], arguments: tuple[Any, ...]) -> ReadResult:
    with reading_errors(files[0]):
        return _cached_rows(read, arguments, tuple(map(file_version, files)))


@functools.lru_cache(maxsize=1)
def _cached_rows(
    read: Callable[..., ReadResult], arguments: tuple[Any, ...], stamps: tuple[FileVersion, ...]
) -> ReadResult:
    classes, tables = read(*arguments)
    high = MAX_LABEL if classes is None else len(classes) - 1
    checked = []
    for table in tables:
        if not table.encoded:
            require_image_array(table.images.dtype, table.images.shape, table.where[0])
        labels = integer_labels(table.labels, len(table.images), table.where[1], high)
        remark = f"{table.where[1]} holds {table.labels.dtype}, which is read as whole numbers."
        checked.append(table._replace(labels=labels, remark=remark if table.labels.dtype.kind == "f" else None))
    return classes or numbered_classes(max(int(table.labels.max()) for table in checked)), checked


def require_image_array(dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> None:
    """Raise `SourceError` if an array cannot be an array of images."""
    if dtype != np.uint8:
        hint = " (0..1 times 255, rounded?)" if dtype.kind == "f" else ""
        raise SourceError(f"{where} holds {dtype}; expected uint8, 0 to 255. Convert it{hint} and save it again.")
    if len(shape) == 3:
        shape = (*shape, 1)
    if len(shape) == 4 and shape[3] not in (1, 3) and shape[1] in (1, 3):
        raise SourceError(
            f"{where} has the shape {shape}, channels first; expected (N, H, W, C): save x.transpose(0, 2, 3, 1)."
        )
    fits = len(shape) == 4 and shape[3] in (1, 3) and shape[0] >= 1 and min(shape[1:3]) >= MIN_SIDE
    if not fits or shape[1] * shape[2] > MAX_PIXELS:
        raise SourceError(
            f"{where} has the shape {shape}; expected (N, H, W), (N, H, W, 1) or (N, H, W, 3), H and W at least "
            f"{MIN_SIDE} and at most {MAX_PIXELS:,} pixels per image."
        )


def open_arrays(path: Path) -> Source:
    """Open the source ``npy:IMAGES,LABELS``. Only the headers and the labels are read.

    Raises
    ------
    SourceError
        There are not two .npy files, or an array is unsuitable. Images must be uint8 of shape (N, H, W) or
        (N, H, W, 1 or 3), and labels must be one non-negative whole number per image.
    """
    files = [Path(name).expanduser().resolve() for name in str(path).rpartition(",")[::2] if name]
    if len(files) != 2:
        raise SourceError("The source npy needs two files: npy:IMAGES,LABELS, both .npy.")
    for file in files:
        if (what := file_problem(file)) is not None:
            raise SourceError(
                f"The source npy cannot be read: {file} {what}. Expected npy:IMAGES,LABELS, two .npy files."
            )
    return row_source("npy", files, _read_arrays, *files, width=1)


def _read_arrays(images: Path, labels: Path) -> ReadResult:
    rows, given = _map_array(images), _map_array(labels)
    if rows.ndim == 1 and given.ndim in (3, 4):
        raise SourceError(
            f"{images} contains {rows.shape[0]:,} single values, and {labels} contains an array of shape "
            f"{given.shape}. In the source npy, the images come first: npy:{labels},{images}."
        )
    if rows.ndim in (3, 4) and given.ndim > 0 and len(rows) != len(given):
        raise SourceError(
            f"The two files of the source npy do not match: {labels} has {len(given):,} labels, but {images} has "
            f"{len(rows):,} images. Expected one label per image. Check that both files are from the same split."
        )
    return None, [ImageRows(None, rows, given, (str(images), str(labels)))]


def _map_array(path: Path) -> NDArray[Any]:
    """Map the array of a .npy file into memory."""
    try:
        return map_array(path)[0]
    except NotAShard as e:
        if "object" in str(e).lower():
            raise SourceError(
                f"{path} holds Python objects, which are not read because loading them can run code. Save plain "
                "numbers: np.save(path, np.stack(x)), uint8 for images."
            ) from None
        raise SourceError(f"{path} is not a .npy file, or is truncated ({e}). Write it with numpy.save.") from None
