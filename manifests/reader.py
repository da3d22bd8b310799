"""Read a dataset: its sets, labels and images, from folders and shards alike.

This needs only what the light installation has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from ..corruptions.registry import family_of
from ..errors import ParameterError, PluginError, UnknownSet, install_add_on, quoted, suggest
from .disk.atomic import inside
from .disk.remote import data_folder
from .manifest_file import load_manifest
from .partial import load_partial
from .paths import REGIONS, SAMPLES
from .reading.image_set import ImageSet, SampleTable, TransformedSet
from .reading.image_store import Container, ImageStore, StoredImages
from .reading.notebook import contact_sheet, figure
from .reading.set_group import SetGroup, by_corruption, matching
from .records.models import ClassRecord, Manifest, SampleRecord, SetRecord
from .regions.crops import Crops, RegionIndex


class Dataset(Mapping[str, ImageSet]):
    """A data set on disk: a mapping from set ids to sets.

    Its keys are the ids; it also knows the sets by their aliases, and ``data["fog"]`` is what `severities` returns of a
    corruption. `open` makes one. `store_of` gives the `ImageStore` that the images of a set come from, by default the
    directory; `sets` are the ids of the sets that are there, by default what PARTIAL.json says, or all.

    Attributes
    ----------
    path : Path
    manifest : Manifest
    absent : list of str
        Ids of sets that are in archives which were not unpacked, or cannot be made.
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
                f"{self.path} is stored as {' and '.join(containers)}; prefer={quoted(prefer)} is not among them."
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
        """Return where a file of records lies, such as samples.jsonl."""
        return inside(self.path, path)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("samples", "_regions")}

    @property
    def name(self) -> str:
        """The benchmark's name and version, such as ``imagenet-c 1.1.0``."""
        return f"{self.manifest.name} {self.manifest.version}"

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
        return self._samples.records

    def sample(self, index: int) -> SampleRecord:
        """Return one of `samples`, without reading the others."""
        return self._samples.record(index)

    def __getitem__(self, name: str) -> ImageSet:
        """Return a set by id or alias; of the name of a corruption, its `severities`.

        Raises
        ------
        UnknownSet
            No set has this name; suggests the near one. It is a KeyError too.
        """
        if name in self._names:
            return self._image_set(self._sets[self._names[name]])
        # a mapping has one type of values; who wants this one by its type calls `severities`
        return self.severities(name)  # type: ignore[return-value]

    def severities(self, corruption: str) -> SetGroup[float]:
        """Return the sets of one corruption alone: severity -> set, or level -> set.

        Raises
        ------
        UnknownSet
            There is none; suggests a near name.
        """
        if corruption in self._alone:
            numbered = {number: self._image_set(record) for number, record in self._alone[corruption].items()}
            return SetGroup(f"{corruption} of {self.manifest.name}", numbered)
        if corruption in self.absent:
            raise UnknownSet(self._why_absent(corruption))
        if corruption in self._names:
            raise UnknownSet(f"{corruption!r} is a set, not a corruption: it is data[{corruption!r}].")
        near = suggest(str(corruption), [*self._names, *sorted(self._alone)])
        raise UnknownSet(
            f"{self.name} has no set {corruption!r} among its {len(self._sets)}.{near} See set_ids and aliases."
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
        """Return the sets that fit all of what is given, by id.

        Parameters
        ----------
        corruption, severity, level, family : one value or several, optional
            One stage of the set fits all of these: ``fog-3+gaussian_noise-5`` is found by fog, by 5, by fog and 3, not
            by fog and 5.
        role : {"test", "validation", "train"} or several, optional
        stages : int or several, optional
            How many stages a set has: 1 leaves chains out, 0 is clean.

        Raises
        ------
        UnknownCorruption
            No set of the data set has one of the values. Values that no set has together select nothing.
        """
        chosen = matching(
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
        """Return a set for a PyTorch data loader, as `ImageSet.with_transform` does; PyTorch is not imported."""
        found = self[name]
        if not isinstance(found, ImageSet):
            raise UnknownSet(
                f"{name!r} is a corruption, not a set: name one of its sets, such as {next(iter(found.values())).id!r}."
            )
        return found.with_transform(transform, target_transform)

    def stream(self, schedule: Any, transform: Callable[[Any], Any] | None = None) -> Any:
        """Return the images in the order of a schedule, or its file, as `corruptset_streams.Stream`.

        Raises
        ------
        PluginError
            The package corruptset-streams is not installed.
        """
        try:
            return import_module("corruptset_streams").Stream(self, schedule, transform)
        except ModuleNotFoundError as e:
            raise PluginError(
                f"Schedules come with the package corruptset-streams ({e}). {install_add_on('corruptset-streams')}"
            ) from None

    @cached_property
    def _alone(self) -> dict[str, dict[float, SetRecord]]:
        """The corruptions that are alone in a set, and these sets by severity or level."""
        return by_corruption(self._sets.values())

    def _why_absent(self, set_id: str) -> str:
        return (
            f"{self.path} is a part of a data set; {set_id!r} is not in it. `corruptset unpack` the archive that has "
            "it; or, with the source of the data set, have its images made: corruptset.open(..., source=...)."
        )

    def _image_set(self, record: SetRecord) -> ImageSet:
        stored = StoredImages(self.path, record, self.manifest.encoding["format"], self.prefer)
        return ImageSet(self.manifest.name, record, self._samples, self._store_of(record) if self._store_of else stored)

    def crops(self, sample_id: str, *, side: int | None = None) -> Crops:
        """Return the regions of a source image, sorted by side, y and x.

        With `side`, only those of that side.

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
        return name in self._names or name in self._alone

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    # of mappings, equality compares all values; an open data set is equal to itself alone
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {len(self)} sets, {self.digest}>"

    def _repr_html_(self) -> str:
        return figure(repr(self), lambda: contact_sheet(self.path))

    def _ipython_key_completions_(self) -> list[str]:
        return [*self._names, *sorted(self._alone)]
