"""Read a dataset: its sets, labels and images, from image files or shards.

This module does not need the optional packages that ``corruptset[build]`` installs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, overload

from ..corruptions.registry import family_of
from ..errors import ParameterError, PluginError, UnknownSet, install_add_on, quote, suggest
from .disk.atomic import path_inside
from .disk.remote import data_folder
from .manifest_file import load_manifest
from .partial import load_partial
from .paths import REGIONS, SAMPLES
from .reading.corruption_names import CorruptionName
from .reading.image_set import ImageSet, SampleTable, TransformedSet
from .reading.image_store import Container, ImageStore, StoredImages
from .reading.notebook import contact_sheet, figure
from .reading.set_group import SetGroup, group_by_corruption, select_records
from .records.models import ClassRecord, Manifest, SampleRecord, SetRecord
from .regions.crops import Crops, RegionIndex


class Dataset(Mapping[str, ImageSet]):
    """A dataset on disk, as a mapping from set ids to sets.

    `corruptset.open` returns an instance. ``data["fog/3"]`` is one set, and the aliases of a set work like its id.
    ``data["fog"]`` is a group that contains the sets of this corruption (see `severities`).

    Parameters
    ----------
    directory : path
        The directory with manifest.json.
    prefer : {"folder", "hdf5"}, optional
        The container from which images are read if each image is stored twice.
    store_of : callable, optional
        A function that takes the record of a set and returns the `ImageStore` of its images. By default, images are
        read from the directory.
    sets : collection of str, optional
        Ids of the available sets. By default, these are the sets that PARTIAL.json lists, or all sets if there is no
        such file.

    Attributes
    ----------
    path : Path
        The directory of the dataset.
    manifest : Manifest
        The contents of manifest.json.
    absent : list of str
        Ids of the sets that are not available. Their archives were not unpacked, or their images cannot be computed.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        prefer: Container | None = None,
        store_of: Callable[[SetRecord], ImageStore] | None = None,
        sets: Collection[str] | None = None,
    ) -> None:
        self.path = data_folder(directory)
        self.manifest = self._load_manifest()
        containers = self.manifest.storage.containers
        if prefer is not None and prefer not in containers:
            raise ParameterError(
                f"{self.path} is stored as {' and '.join(containers)}, so prefer={quote(prefer)} is not possible."
            )
        self.prefer, self._store_of = prefer, store_of
        records = self.manifest.sets
        self._samples = SampleTable(self.record_file(SAMPLES), (s.count for s in records), self.manifest.classes)
        if sets is None:
            partial = load_partial(self.path)
            sets = [s.id for s in records] if partial is None else partial.sets
        present = frozenset(sets)
        self._sets = {s.id: s for s in records if s.id in present}
        self.absent: list[str] = [s.id for s in records if s.id not in present]
        self._names = {alias: s.id for s in self._sets.values() for alias in s.aliases} | {id: id for id in self._sets}

    def _load_manifest(self) -> Manifest:
        return load_manifest(self.path)

    def record_file(self, path: str) -> Path:
        """Return the location of a file of records, such as samples.jsonl."""
        return path_inside(self.path, path)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("samples", "_regions")}

    @property
    def name(self) -> str:
        """The name and version of the benchmark, such as ``imagenet-c 1.1.0``."""
        return f"{self.manifest.name} {self.manifest.version}"

    @property
    def digest(self) -> str:
        """The digest of the dataset, which identifies the benchmark."""
        return self.manifest.digest

    @property
    def classes(self) -> list[ClassRecord]:
        """The classes, sorted by index."""
        return self.manifest.classes

    @property
    def set_ids(self) -> list[str]:
        """The ids of the sets, sorted."""
        return list(self._sets)

    @property
    def aliases(self) -> dict[str, str]:
        """A mapping from aliases to the ids of their sets."""
        return {name: id for name, id in self._names.items() if name not in self._sets}

    @cached_property
    def samples(self) -> list[SampleRecord]:
        """The samples by index. They are read on first access."""
        return self._samples.records

    def sample(self, index: int) -> SampleRecord:
        """Return the record of one sample without reading the whole file."""
        return self._samples.record(index)

    # The overloads cover sets and the corruptions in this release. For a corruption from a plugin, use `severities`,
    # which has a precise return type.
    @overload
    def __getitem__(self, name: CorruptionName) -> SetGroup[float]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: str) -> ImageSet: ...
    def __getitem__(self, name: str) -> ImageSet | SetGroup[float]:
        """Return a set by its id or alias, or the sets of a corruption by its name (see `severities`).

        Raises
        ------
        UnknownSet
            There is no such set. The message suggests similar names. The error is also a KeyError.
        """
        if name in self._names:
            return self._image_set(self._sets[self._names[name]])
        return self.severities(name)

    def severities(self, corruption: str) -> SetGroup[float]:
        """Return the sets of a corruption by severity, or by level for a gradual degradation.

        Sets of chains of several corruptions are not included.

        Raises
        ------
        UnknownSet
            The dataset has no set with this corruption. The message suggests similar names.
        """
        if corruption in self._by_corruption:
            numbered = {number: self._image_set(record) for number, record in self._by_corruption[corruption].items()}
            return SetGroup(f"{corruption} of {self.manifest.name}", numbered)
        if corruption in self.absent:
            raise UnknownSet(self._why_absent(corruption))
        if corruption in self._names:
            raise UnknownSet(f"{corruption!r} is a set, not a corruption. Use data[{corruption!r}] instead.")
        near = suggest(str(corruption), [*self._names, *sorted(self._by_corruption)])
        raise UnknownSet(
            f"{self.name} has no set {corruption!r}.{near} The attributes set_ids and aliases list its "
            f"{len(self._sets)} sets."
        )

    def select(
        self,
        *,
        corruption: str | Iterable[str] | None = None,
        severity: float | Iterable[float] | None = None,
        level: int | Iterable[int] | None = None,
        role: str | Iterable[str] | None = None,
        family: str | Iterable[str] | None = None,
        stages: int | Iterable[int] | None = None,
    ) -> SetGroup[str]:
        """Return the sets that match all given conditions, by id.

        Parameters
        ----------
        corruption, severity, level, family : value or iterable of values, optional
            Conditions that a single stage of the set must match. For example, ``fog-3+gaussian_noise-5`` matches the
            corruption fog with the severity 3, but not with the severity 5.
        role : {"test", "validation", "train"} or iterable of them, optional
            The role of the set.
        stages : int or iterable of int, optional
            The number of stages: 0 for clean images, 1 for a single corruption, more for chains.

        Returns
        -------
        SetGroup
            The sets by id. It is empty if no set matches all conditions.

        Raises
        ------
        UnknownCorruption
            One of the values does not occur in any set of the dataset.
        """
        chosen = select_records(
            self._sets.values(),
            family_of,
            corruption=corruption,
            severity=severity,
            level=level,
            family=family,
            role=role,
            stages=stages,
        )
        return SetGroup(f"selection of {self.manifest.name}", {record.id: self._image_set(record) for record in chosen})

    def torch(
        self,
        name: str,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
    ) -> TransformedSet:
        """Return a set with transforms, for a PyTorch data loader (see `ImageSet.with_transform`)."""
        found = self[name]
        if not isinstance(found, ImageSet):
            raise UnknownSet(
                f"{name!r} is a corruption, not a set. Specify one of its sets, such as "
                f"{next(iter(found.values())).id!r}."
            )
        return found.with_transform(transform, target_transform)

    def stream(self, schedule: Any, transform: Callable[[Any], Any] | None = None) -> Any:
        """Return the images in the order of a schedule, as a `corruptset_streams.Stream`.

        Parameters
        ----------
        schedule : Schedule or path
            A schedule from the package corruptset-streams, or the path of its file.
        transform : callable, optional
            A function that takes an image.

        Raises
        ------
        PluginError
            The package corruptset-streams is not installed.
        """
        try:
            return import_module("corruptset_streams").Stream(self, schedule, transform)
        except ModuleNotFoundError as e:
            raise PluginError(
                f"Schedules need the package corruptset-streams ({e}). {install_add_on('corruptset-streams')}"
            ) from None

    @cached_property
    def _by_corruption(self) -> dict[str, dict[float, SetRecord]]:
        """Corruption -> severity or level -> record, for sets with a single stage."""
        return group_by_corruption(self._sets.values())

    def _why_absent(self, set_id: str) -> str:
        return (
            f"{self.path} contains only a part of the dataset, without the set {set_id!r}. Unpack the archive of "
            "this set with `corruptset unpack`, or pass the source of the dataset to compute the images: "
            "corruptset.open(..., source=...)."
        )

    def _image_set(self, record: SetRecord) -> ImageSet:
        stored = StoredImages(self.path, record, self.manifest.encoding["format"], self.prefer)
        return ImageSet(self.manifest.name, record, self._samples, self._store_of(record) if self._store_of else stored)

    def crops(self, sample_id: str, *, side: int | None = None) -> Crops:
        """Return the regions of a source image as images, sorted by side, y and x.

        Parameters
        ----------
        sample_id : str
            The id of the source image.
        side : int, optional
            The side of the regions in pixels. By default, regions of all sides are returned.

        Raises
        ------
        UnknownCorruption
            The dataset has no such regions.
        """
        return self._regions.crops(sample_id, side, self["clean"].image)

    @cached_property
    def _regions(self) -> RegionIndex:
        return RegionIndex(self.record_file(REGIONS), self.manifest, self.samples)

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._by_corruption

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    # comparing two mappings would read all images, so a dataset is equal only to itself
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {len(self)} sets, {self.digest}>"

    def _repr_html_(self) -> str:
        return figure(repr(self), lambda: contact_sheet(self.path))

    def _ipython_key_completions_(self) -> list[str]:
        return [*self._names, *sorted(self._by_corruption)]
