"""Reading a data set back: sets, labels, images by index or one after the other, from folders or shards alike.

Needs numpy, h5py, Pillow, pydantic and blake3 only.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownCorruption, VerificationError, suggest
from ..files import read_regular
from .disk.atomic import inside
from .disk.jsonl import read_jsonl
from .images.arrays import NotAShard
from .images.pictures import NotAPicture, decode
from .images.shards import ShardCache
from .layout import SAMPLES, set_path
from .manifest_file import load_manifest
from .partial import load_partial
from .records.models import ClassRecord, ImageRecord, Manifest, SampleRecord, SetRecord, StoredRecord

BLOCK_BYTES = 16 << 20
"""How much of a shard is read at once when iterating."""

Container = Literal["folder", "hdf5"]


def open(directory: Path | str, *, prefer: Container | None = None) -> DataSet:
    """Open a data set that a build wrote.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    prefer : {"folder", "hdf5"}, optional
        Which container to read from where a data set has both. By default shards if they hold raw pixels, else the files.

    Returns
    -------
    DataSet

    Raises
    ------
    IncompleteBuild
        There is no manifest.json.
    VerificationError
        manifest.json is not a manifest.
    ValueError
        `prefer` is neither of the two, or a container that this data set does not have.

    Notes
    -----
    Nothing is checked but the manifest's fields; `corruptset.verify` checks the rest.

    Examples
    --------
    >>> import corruptset
    >>> data = corruptset.open("corruptset-out/imagenet-c-1.0.0")  # doctest: +SKIP
    >>> for image, label in data["fog/3"]:  # doctest: +SKIP
    ...     predict(image)
    """
    return DataSet(directory, prefer=prefer)


class DataSet:
    """A data set on disk: a mapping from set ids (and aliases) to sets.

    Parameters
    ----------
    directory : path
    prefer : {"folder", "hdf5"}, optional
        As in `open`.

    Attributes
    ----------
    path : Path
    manifest : Manifest
    absent : list of str
        Ids of sets that are in archives which were not unpacked.
    """

    def __init__(self, directory: Path | str, *, prefer: Container | None = None) -> None:
        self.path = Path(directory)
        self.manifest: Manifest = load_manifest(self.path)
        containers = self.manifest.encoding["containers"]
        if prefer is not None and prefer not in containers:
            raise ValueError(f"{self.path} is stored as {' and '.join(containers)}; prefer={prefer!r} is not among them.")
        self.prefer = prefer
        partial = load_partial(self.path)
        there = [s for s in self.manifest.sets if partial is None or s.id in partial.sets]
        self.absent: list[str] = sorted({s.id for s in self.manifest.sets} - {s.id for s in there})
        self._sets = {s.id: s for s in there}
        self._names = {alias: s.id for s in there for alias in s.aliases} | {id: id for id in self._sets}

    def __getstate__(self) -> dict[str, Any]:
        # samples are read again where they are needed: cheaper than sending them to every worker
        return {key: value for key, value in self.__dict__.items() if key not in ("samples", "_labels")}

    @property
    def digest(self) -> str:
        """The build's digest: the name of the benchmark."""
        return self.manifest.digest

    @property
    def classes(self) -> list[ClassRecord]:
        """The classes, by index."""
        return self.manifest.classes

    @property
    def set_ids(self) -> list[str]:
        """The ids of the sets, sorted."""
        return list(self._sets)

    @property
    def aliases(self) -> dict[str, str]:
        """Every alias and the id of its set."""
        return {name: id for name, id in self._names.items() if name not in self._sets}

    @cached_property
    def samples(self) -> list[SampleRecord]:
        """The samples, by index; read when first used."""
        found = list(read_jsonl(inside(self.path, SAMPLES), SampleRecord))
        counts = {s.count for s in self.manifest.sets}
        # a row too few or too many would give images the labels of others
        if [s.index for s in found] != list(range(len(found))) or counts - {len(found)}:
            raise _broken(self.path / SAMPLES, f"does not hold rows 0 to {max(counts, default=0) - 1} in order")
        return found

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        return np.array([s.label for s in self.samples], dtype=np.int64)

    def __getitem__(self, name: str) -> ImageSet:
        """Return a set by id or alias.

        Raises
        ------
        UnknownCorruption
            No set has this name; suggests the near one.
        """
        if name in self.absent:
            raise UnknownCorruption(
                f"{self.path} is a part of a data set, and the set {name!r} is not in it. `corruptset unpack` the archive that has it."
            )
        if name not in self._names:
            raise UnknownCorruption(
                f"{self.path} has no set {name!r} among its {len(self._sets)}.{suggest(str(name), self._names)} See set_ids and aliases."
            )
        return ImageSet(self, self._sets[self._names[name]])

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def __repr__(self) -> str:
        return f"<DataSet {self.manifest.name} {self.manifest.version}: {len(self)} sets, {self.digest}>"


class ImageSet:
    """The images of one set, in sample order.

    ``len(s)``; ``s[i]`` and iteration give ``(image, label)``, the image (H, W, C) of uint8, C 1 or 3, the label an int: what a data loader
    takes. ``s.image(i)`` is the image alone. It may be pickled, and used in forked or spawned workers: each process opens its own shards.

    Attributes
    ----------
    record : SetRecord
        The set as the manifest has it: id, aliases, stages, role, count, digest, metrics.
    """

    def __init__(self, data: DataSet, record: SetRecord) -> None:
        self._data = data
        self.record = record
        self._shards = ShardCache(data.path)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "rows"}

    @cached_property
    def rows(self) -> list[ImageRecord]:
        """The records of the images; read when first used."""
        rows = list(read_jsonl(inside(self._data.path, set_path(self.record.id)), ImageRecord))
        if [r.index for r in rows] != list(range(self.record.count)):
            raise VerificationError(
                f"{self._data.path / set_path(self.record.id)} does not hold rows 0 to {self.record.count - 1} in order. "
                "Run `corruptset verify` on the data set."
            )
        return rows

    @property
    def id(self) -> str:
        """The set's id."""
        return self.record.id

    @property
    def labels(self) -> NDArray[np.int64]:
        """(N,) int64: the class index of every image."""
        return self._data._labels.copy()

    @property
    def ids(self) -> list[str]:
        """The sample ids."""
        return [s.id for s in self._data.samples]

    def __len__(self) -> int:
        return self.record.count

    def __getitem__(self, index: SupportsIndex) -> tuple[NDArray[np.uint8], int]:
        i = self._number(index)
        return self._read(self._choose(self.rows[i])), int(self._data._labels[i])

    def image(self, index: SupportsIndex) -> NDArray[np.uint8]:
        """Return an image without its label, (H, W, C) of uint8; negative indices count from the end."""
        return self._read(self._choose(self.rows[self._number(index)]))

    def _number(self, index: SupportsIndex) -> int:
        try:
            i = operator.index(index)
        except TypeError:
            raise TypeError(
                f"set {self.id!r} is indexed by one whole number, not by {index!r}; for many images iterate over it, or use array()"
            ) from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"set {self.id!r} has {len(self)} images; there is no image {i}")
        return i

    @property
    def encoding(self) -> str:
        """``png`` or ``jpeg``: how the data set's images are stored (with png, shards hold raw pixels)."""
        return str(self._data.manifest.encoding["format"])

    def stored(self, index: int, *, prefer: Container | None = None) -> tuple[StoredRecord, Path | NDArray[np.uint8]]:
        """Return where an image is stored: its record, and its file or the row as stored (pixels, or 1-D encoded bytes)."""
        row = self.rows[index]
        stored = self._choose(row) if prefer is None else self._choose_from(row, prefer)
        path = inside(self._data.path, stored.path)
        if stored.row is None:
            return stored, path
        with _explained(path):
            return stored, self._shards.row(stored.path, stored.row)

    def images(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the images in sample order; runs of raw shard rows are read in blocks."""
        chosen = [self._choose(row) for row in self.rows]
        start = 0
        while start < len(chosen):
            stop = start + 1
            first = chosen[start]
            if self._raw(first):
                limit = max(1, BLOCK_BYTES // max(1, first.bytes))
                while stop < len(chosen) and stop - start < limit and _follows(first, chosen[stop], stop - start):
                    stop += 1
            if stop - start > 1 and first.row is not None:
                with _explained(self._data.path / first.path):
                    block = self._shards.block(first.path, first.row, first.row + stop - start)
                # a short block means a shard with fewer rows than recorded
                if len(block) != stop - start:
                    raise _broken(self._data.path / first.path, "has fewer rows than recorded")
                yield from block
            else:
                yield self._read(first)
            start = stop

    def array(self) -> NDArray[np.uint8]:
        """Return all images as one array (N, H, W, C) of uint8; for sets of small images.

        Raises
        ------
        ValueError
            The images are not of one size.
        """
        images = list(self.images())
        shapes = sorted({i.shape for i in images})
        if len(shapes) > 1:
            raise ValueError(f"set {self.id!r} has images of {len(shapes)} sizes, {shapes[0]} to {shapes[-1]}; iterate over them instead.")
        return np.stack(images) if images else np.empty((0, 0, 0, 3), np.uint8)

    def __iter__(self) -> Iterator[tuple[NDArray[np.uint8], int]]:
        return zip(self.images(), self._data._labels.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"<ImageSet {self.id!r} of {self._data.manifest.name}: {len(self)} images>"

    def _raw(self, stored: StoredRecord) -> bool:
        return stored.row is not None and self._data.manifest.encoding["format"] == "png"

    def _choose(self, row: ImageRecord) -> StoredRecord:
        return self._choose_from(row, self._data.prefer or ("hdf5" if self._data.manifest.encoding["format"] == "png" else "folder"))

    def _choose_from(self, row: ImageRecord, prefer: str) -> StoredRecord:
        by = {"folder" if f.row is None else "hdf5": f for f in row.files}
        if not by:
            raise VerificationError(f"{self._data.path}: image {row.index} of set {self.id!r} is stored nowhere, say its records.")
        return by.get(prefer) or next(iter(by.values()))

    def _read(self, stored: StoredRecord) -> NDArray[np.uint8]:
        path = inside(self._data.path, stored.path)
        with _explained(path):
            if stored.row is None:
                return decode(read_regular(path, stored.bytes), self._data.manifest.encoding["format"])
            row = self._shards.row(stored.path, stored.row)
            return row if row.ndim == 3 else decode(row.data, self._data.manifest.encoding["format"])


def _follows(first: StoredRecord, other: StoredRecord, steps: int) -> bool:
    return other.path == first.path and first.row is not None and other.row == first.row + steps


def _broken(path: Path, why: str) -> VerificationError:
    return VerificationError(f"{path} {why}. Run `corruptset verify` on the data set for everything that is wrong.")


class _explained:
    """Turn what reading a damaged file raises into one error that names it and the next step."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            raise _broken(self._path, "is missing") from error
        # h5py raises KeyError, ValueError, RuntimeError and OSError on files that are not what they should be
        if isinstance(error, (OSError, NotAPicture, NotAShard, KeyError, ValueError, RuntimeError, IndexError)):
            raise _broken(self._path, f"cannot be read ({error})") from error
