"""The placement of a dataset in a layout: the paths of all images and text files.

The placement depends only on the dataset's records and the options, so it can be computed again to check an export.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...canonical import canonical_sha256
from ...digests import digits
from ...errors import BuildError, first_few
from ...manifests.images.image_formats import IMAGE_FORMATS, format_of_suffix, preserved_path
from ...manifests.paths import has_region_table, set_path
from ...manifests.records.models import Manifest
from ..sources.kept_names import equal_names, renamed_note, suffix_problems
from ..sources.source import path_in_class
from .class_folders import class_notes, with_every_class
from .contents import ExportContents, ExportOptions, refuse
from .layouts import LAYOUTS, Layout, Text
from .set_names import Words, named_sets

SHARD = 5000
"""The number of samples in one archive. An archive takes about 125 MB for photographs and 15 MB for 32x32 images."""
_SPLIT = re.compile(
    r"(?<![a-z])(train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])|(?<![^/])__"
)
"""The words that the library `datasets` interprets as splits (``SPLIT_KEYWORDS`` in its data_files.py). The library
also ignores folders whose names begin with ``__``.
"""

_SET_WORDS = re.compile(r"\{(?!(?:class|image|id|label|index|number|source|suffix|ext|top|dataset|hundred)\b)")
"""A word in the template of image names whose value can differ between sets."""


@dataclass(frozen=True)
class SetSlice:
    """Images of a set that are stored together.

    A set has several slices if its samples are divided among splits or archives, or if the severities file lists it
    twice.
    """

    set_id: str
    path: str
    """The folder, array or archive that contains the images."""
    samples: Sequence[int]
    """The indices of the samples, in increasing order."""
    row: int | None
    """For an array, the row of the first image."""
    words: Words
    """The values of the words in the layout's templates for these images."""


class Placement:
    """The place of every image of a dataset in a layout.

    Raises
    ------
    BuildError
        The dataset cannot be exported in this layout. The message lists all reasons.
    """

    def __init__(self, layout: Layout, contents: ExportContents, options: ExportOptions) -> None:
        samples, manifest = contents.samples, contents.manifest
        if has_region_table(manifest):
            raise BuildError(
                f"{manifest.name} stores its regions as a table, so an export would contain its whole images. Build "
                "it with --store images, and export that."
            )
        if any(sample.region is not None for sample in samples):
            _refuse_regions(layout)
        _refuse_unused(layout, contents, options)
        self.layout, self.contents = layout, contents
        hundred = "cifar100" in manifest.name.replace("-", "") or len(contents.classes) == 100
        self._words: Words = {"dataset": f"{manifest.name}-{manifest.version}", "hundred": 100 if hundred else 10}
        self.top = layout.top.format(**self._words)
        """The top folder of the export. Loaders expect the path of this folder or of its parent."""
        self._words |= {"top": self.top, "archives": _archives_id(manifest)}
        self._names: dict[int, str] | None = None if _SET_WORDS.search(layout.image) else {}
        """A cache of image names by sample index, or None if the names depend on the set."""
        chosen: Sequence[int] = range(len(samples))
        list_notes: list[str] = []
        if layout.listed:
            chosen, list_notes = with_every_class(layout.name, contents, options.images)
        sets, self.notes = named_sets(layout, contents, options)
        """Notes for the user of this export."""
        self.slices = tuple(self._slices(sets, chosen))
        self._refuse_misfits()
        if layout.numbers_classes:
            folders = [
                (self.image_name(images, i), samples[i].class_index) for images in self.slices[:1] for i in chosen
            ]
            self.notes += class_notes(layout.name, contents, folders, allow_missing=options.allow_missing_classes)
        self.notes += [*list_notes, *self._format_notes()]
        splits = list(dict.fromkeys(sample.split or "test" for sample in samples))
        for remark in layout.remarks:
            if len(samples) != remark.unless_samples and len(splits) != remark.unless_splits:
                self.notes.append(remark.text.format(samples=len(samples), split=splits[0]))

    def _slices(self, sets: Iterable[tuple[str, Words]], chosen: Sequence[int]) -> Iterator[SetSlice]:
        place, samples = self.layout.place, self.contents.samples
        groups: dict[tuple[str, int], list[int]] = {}
        for position, index in enumerate(chosen):
            split = (samples[index].split or "test") if "{split" in place else ""
            groups.setdefault((split, position // SHARD if "{shard" in place else 0), []).append(index)
        rows: Counter[str] = Counter()
        for set_id, names in sets:
            ref = self.contents.by_name[set_id]
            letter = self.layout.letters.get(ref.corruption or "") if ref.severity is not None else None
            of_set = {
                "set": set_id,
                "marked_set": mark_split_words(set_id),
                "lettered_set": f"{ref.corruption}/{ref.severity}" if letter else set_id,
                "letter": f"_{letter}" if letter else "",
                **self.contents.labels[set_id],
            }
            for (split, shard), indices in groups.items():
                words = self._words | of_set | names | {"split": split, "shard": shard}
                path = place.format(**words)
                yield SetSlice(set_id, path, indices, rows[path] if self.layout.container == "arrays" else None, words)
                rows[path] += len(indices)

    def _refuse_misfits(self) -> None:
        """Raise `BuildError` if samples or names do not fit into the layout."""
        layout, samples, classes = self.layout, self.contents.samples, self.contents.classes
        problems: list[str] = []
        if layout.splits:
            known = " and ".join(layout.splits)
            strange = {s.split for s in samples} - {None, *layout.splits}
            problems += [f"split {split!r}: the layout only has {known}" for split in sorted(map(str, strange))]
        if layout.source_names:
            problems += suffix_problems([s.path for s in samples if s.path])
        if not layout.blanks:
            blank = [s.id for s in samples if " " in s.id or " " in classes[s.class_index].folder]
            problems += [
                f"{i}: has a blank in its path, but the lists use a blank to separate path and label" for i in blank
            ]
        for text in (text for text in layout.beside if text.labels):
            most, top = max((s.class_index for s in samples), default=0), np.iinfo(str(text.labels)).max
            if most > top:
                file = text.path.rpartition("/")[2]
                problems.append(f"label {most}: {file} stores labels as {text.labels}, from 0 to {top}")
        refuse(
            layout.name, problems, "Change the source and build again, or choose another layout, such as webdataset."
        )
        if layout.source_names:
            equal = equal_names([(s.path, s.id) for s in samples], self.contents.format)
            refuse(layout.name, equal, "Rename them in the source, or use a recipe that stores JPEG.")
        # Image names differ whenever sample ids do, but set names chosen by the user may differ only in case.
        files = Counter(path.casefold() for path in [*self.slices_at, *self.texts])
        twice = [f"{path}: would contain two sets" for path, count in files.items() if count > 1]
        refuse(layout.name, twice, "With --severities, choose names that differ in more than upper and lower case.")

    def _format_notes(self) -> Iterator[str]:
        """Yield notes on images whose names have the suffix of a format other than the stored one."""
        if not self.layout.source_names:
            return
        paths = [(s.path, self.contents.stored_format(i)) for i, s in enumerate(self.contents.samples) if s.path]
        encoded = [path for path, form in paths if format_of_suffix(path) == "png" and form == "jpeg"]
        if encoded:
            yield (
                f"The dataset stores JPEG, and the names of {len(encoded):,} images of each set end in .png "
                f"({first_few(encoded, 2)}). Those files are PNGs with the pixels of the stored images, which take "
                "more space."
            )
        yield from renamed_note([path for path, _ in paths], self.contents.format)

    @cached_property
    def slices_of(self) -> Mapping[str, Sequence[SetSlice]]:
        """A mapping from set ids to slices."""
        return _group_sets((images.set_id, images) for images in self.slices)

    @cached_property
    def slices_at(self) -> Mapping[str, Sequence[SetSlice]]:
        """A mapping from the paths of folders, arrays or archives to the slices that they contain."""
        return _group_sets((images.path, images) for images in self.slices)

    @cached_property
    def texts(self) -> Mapping[str, tuple[Text, Sequence[SetSlice]]]:
        """A mapping from the paths of text files to their descriptions and slices."""
        files: dict[str, tuple[Text, list[SetSlice]]] = {}
        for text in self.layout.beside:
            for images in self.slices:
                files.setdefault(text.path.format(**images.words), (text, []))[1].append(images)
        return files

    def paths(self) -> Iterator[str]:
        """Yield the relative path of every file except VIEW.json."""
        if self.layout.container == "files":
            yield from (self.path(images, index) for images in self.slices for index in images.samples)
        else:
            yield from self.slices_at
        yield from self.texts

    def path(self, images: SetSlice, index: int) -> str:
        """Return the path of an image file."""
        return f"{images.path}/{self.image_name(images, index)}"

    def image_name(self, images: SetSlice, index: int) -> str:
        """Return the name of an image in its folder or archive."""
        if self._names is None:
            return self.layout.image.format(**self.words(images, index))
        if index not in self._names:
            self._names[index] = self.layout.image.format(**self.words(images, index))
        return self._names[index]

    def words(self, images: SetSlice, index: int) -> dict[str, Any]:
        """Return the values of the words in the layout's templates for an image."""
        sample, form = self.contents.samples[index], self.contents.stored_format(index)
        folder = "" if sample.label is None else self.contents.classes[sample.class_index].folder
        return {
            **images.words,
            "class": folder,
            "image": path_in_class(sample.id, folder),
            "id": sample.id,
            "label": sample.label,
            "index": index,
            "number": f"{index:0{len(str(len(self.contents.samples) - 1))}d}",
            "source": preserved_path(sample.path, sample.id, self.contents.format),
            "suffix": IMAGE_FORMATS[form][1],
            "ext": "png" if form == "png" else "jpg",
        }


def _group_sets(pairs: Iterable[tuple[str, SetSlice]]) -> Mapping[str, Sequence[SetSlice]]:
    groups: dict[str, list[SetSlice]] = {}
    for key, images in pairs:
        groups.setdefault(key, []).append(images)
    return groups


def _refuse_regions(layout: Layout) -> None:
    """Raise `BuildError` if a layout does not support regions. The message names layouts that do."""
    if layout.whole_images:
        others = ", ".join(name for name, other in LAYOUTS.items() if not other.whole_images)
        raise BuildError(
            f"The layout {layout.name} is for whole images, because its loaders take each row or name for an image of "
            f"the source. The samples of this dataset are regions of images. Layouts for regions: {others}."
        )


def _refuse_unused(layout: Layout, contents: ExportContents, options: ExportOptions) -> None:
    """Raise `BuildError` if the layout does not use a given option, or needs labels that are missing."""
    flags = {
        "--severities": options.severities and layout.names not in ("severities", "one"),
        "--list": options.images and not layout.listed,
        "--allow-missing-classes": options.allow_missing_classes and not layout.numbers_classes,
    }
    if unused := ", ".join(flag for flag, extra in flags.items() if extra):
        raise BuildError(f"The layout {layout.name} does not use {unused}. Leave it out.")
    if layout.labelled and not contents.classes:
        raise BuildError(
            f"The layout {layout.name} contains labels, and these images have none. Use the layout source-tree."
        )


def mark_split_words(set_id: str) -> str:
    """Return a set id with ``=`` before each part that `datasets` would misinterpret."""
    return _SPLIT.sub(r"=\g<0>", set_id)


def _archives_id(manifest: Manifest) -> str:
    """Return twelve digits that identify the images, labels and names in the archives.

    mlcroissant extracts archives with the same name only once, so different archives need different names. For lossless
    images, the digest of the dataset determines the pixels, whichever library encoded them. For JPEGs it does not, so
    the hashes of the record file (.jsonl) of each set are included.
    """
    rows = {set_path(s.id) for s in manifest.sets} if manifest.encoding["format"] == "jpeg" else set()
    stored = [f.sha256 for f in manifest.files if f.path in rows]
    return digits(canonical_sha256([manifest.digest, manifest.encoding["format"], stored]))[:12]
