"""Reading a data set back: sets, labels, and images by index or in order, from folders and shards alike.

Needs numpy, h5py, Pillow, pydantic and blake3 only.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownCorruption, VerificationError, suggest
from ..files import read_regular
from .disk.atomic import inside
from .disk.jsonl import read_jsonl, row_at
from .images.pictures import decode
from .images.shards import ShardCache
from .layout import REGIONS, SAMPLES, set_path
from .manifest_file import load_manifest
from .partial import load_partial
from .records.models import ClassRecord, ImageRecord, Manifest, SampleRecord, SetRecord, StoredRecord
from .regions.crops import Crops
from .regions.region_index import RegionIndex

BLOCK_BYTES = 16 << 20
"""How much of a shard `ImageSet.images` reads at once."""

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
        self.manifest = self._load_manifest()
        containers = self.manifest.encoding["containers"]
        if prefer is not None and prefer not in containers:
            raise ValueError(f"{self.path} is stored as {' and '.join(containers)}; prefer={prefer!r} is not among them.")
        self.prefer = prefer
        partial = load_partial(self.path)
        self._sets = {s.id: s for s in self.manifest.sets if partial is None or s.id in partial.sets}
        self.absent: list[str] = sorted({s.id for s in self.manifest.sets} - self._sets.keys())
        self._names = {alias: s.id for s in self._sets.values() for alias in s.aliases} | {id: id for id in self._sets}

    def _load_manifest(self) -> Manifest:
        return load_manifest(self.path)

    def record_file(self, path: str) -> Path:
        """Return where a file of records lies, such as samples.jsonl."""
        return inside(self.path, path)

    def __getstate__(self) -> dict[str, Any]:
        # samples are read again where they are needed: cheaper than sending them to every worker
        return {key: value for key, value in self.__dict__.items() if key not in ("samples", "_labels", "_regions")}

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
        samples = list(read_jsonl(self.record_file(SAMPLES), SampleRecord))
        counts = {s.count for s in self.manifest.sets}
        # a row too few or too many would give images the labels of others
        if [s.index for s in samples] != list(range(len(samples))) or counts - {len(samples)}:
            raise _broken(self.path / SAMPLES, f"does not hold rows 0 to {max(counts, default=0) - 1} in order")
        return samples

    def sample(self, index: int) -> SampleRecord:
        """Return one of `samples`, without reading the others."""
        return row_at(self.record_file(SAMPLES), SampleRecord, index)

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

    def crops(self, sample_id: str, *, side: int | None = None) -> Crops:
        """Return the regions of a source image, sorted by side, y and x, whether they are stored or cut now; `side`: only those.

        Raises
        ------
        UnknownCorruption
            There are none.
        """
        return self._regions.crops(sample_id, side, self["clean"].image)

    @cached_property
    def _regions(self) -> RegionIndex:
        return RegionIndex(self.record_file(REGIONS), self.manifest, self.samples)

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
            raise _broken(self._data.path / set_path(self.record.id), f"does not hold rows 0 to {self.record.count - 1} in order")
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

    def single(self, index: SupportsIndex) -> NDArray[np.uint8]:
        """Return an image as `image` does, for those who want a few of many: the records of the others are not read."""
        return self._read(self._choose(row_at(inside(self._data.path, set_path(self.record.id)), ImageRecord, self._number(index))))

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
        stored = self._choose(self.rows[index], prefer)
        path = inside(self._data.path, stored.path)
        if stored.row is None:
            return stored, path
        with _explained(path):
            return stored, self._shards.row(stored.path, stored.row)

    def images(self, *, block_bytes: int = BLOCK_BYTES) -> Iterator[NDArray[np.uint8]]:
        """Yield the images in sample order; rows of a shard of pixels are read in blocks of at most so many bytes."""
        places = [self._choose(row) for row in self.rows]
        start = 0
        while start < len(places):
            first, count = places[start], 1
            if first.row is not None and self.encoding == "png":
                most = min(len(places) - start, max(1, block_bytes // max(1, first.bytes)))
                while count < most and _follows(first, places[start + count], count):
                    count += 1
            if first.row is None or count == 1:
                yield self._read(first)
            else:
                with _explained(self._data.path / first.path):
                    block = self._shards.block(first.path, first.row, first.row + count)
                # a short block means a shard with fewer rows than recorded
                if len(block) != count:
                    raise _broken(self._data.path / first.path, "has fewer rows than recorded")
                yield from block
            start += count

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

    def _choose(self, row: ImageRecord, prefer: Container | None = None) -> StoredRecord:
        """Return the place to read an image from: in the preferred container, where it is in that one."""
        prefer = prefer or self._data.prefer or ("hdf5" if self.encoding == "png" else "folder")
        by_container = {"folder" if f.row is None else "hdf5": f for f in row.files}
        if not by_container:
            raise VerificationError(f"{self._data.path}: image {row.index} of set {self.id!r} is stored nowhere, say its records.")
        return by_container.get(prefer) or next(iter(by_container.values()))

    def _read(self, stored: StoredRecord) -> NDArray[np.uint8]:
        path = inside(self._data.path, stored.path)
        with _explained(path):
            if stored.row is None:
                return decode(read_regular(path, stored.bytes), self.encoding)
            row = self._shards.row(stored.path, stored.row)
            return row if row.ndim == 3 else decode(row.data, self.encoding)


def _follows(first: StoredRecord, other: StoredRecord, steps: int) -> bool:
    return other.path == first.path and first.row is not None and other.row == first.row + steps


def _broken(path: Path, why: str) -> VerificationError:
    return VerificationError(f"{path} {why}. Run `corruptset verify` on the data set for everything that is wrong.")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file raises into one error that names it and the next step."""
    try:
        yield
    except FileNotFoundError as e:
        raise _broken(path, "is missing") from e
    # NotAPicture, NotAShard, and what h5py raises on damaged files
    except (OSError, KeyError, ValueError, RuntimeError, IndexError) as e:
        raise _broken(path, f"cannot be read ({e})") from e
