"""A view: where a layout puts every image of a data set. It follows from the records and the options alone, so it can be checked later."""

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
from ...errors import BuildError
from ...manifests.images.pictures import FORMATS, own_path
from ...manifests.layout import set_path
from ...manifests.records.models import ClassRecord, Manifest
from ..pixels.encoding import Encoding
from ..recipes.set_spec import SetSpec
from ..sources.listing import kept_suffix
from ..sources.source import Sample
from .class_numbers import class_notes
from .image_list import with_every_class
from .layouts import LAYOUTS, Layout, Text, get_layout
from .severities import Words, named_sets
from .subject import SetRef, Subject, ViewOptions, refuse
from .texts import text_bytes

SHARD = 5000
"""Samples of one archive: 125 MB of photographs, 15 MB of 32-pixel images."""
_SPLIT = re.compile(r"(?<![a-z])(train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])|(?<![^/])__")
"""What names a split (``SPLIT_KEYWORDS`` in data_files.py of `datasets`), and how a folder begins that it does not look into."""


@dataclass(frozen=True)
class SetSlice:
    """Images of a set that lie together.

    A set has several slices where its samples are divided, or where a file of severities names it twice.
    """

    set_id: str
    path: str
    """Their folder, array or archive."""
    samples: Sequence[int]
    """Which they are, upwards."""
    row: int | None
    """The row of the first one, in an array."""
    words: Words
    """What the words of a layout's templates are for them."""


class View:
    """A data set, or a build that is to be one, in a layout.

    Raises
    ------
    BuildError
        It does not fit into the layout; lists everything that does not.
    """

    def __init__(self, layout: Layout, subject: Subject, options: ViewOptions) -> None:
        if any(sample.region is not None for sample in subject.samples):
            refuse_regions(layout)
        _refuse_unused(layout, options)
        if layout.labelled and not subject.classes:
            raise BuildError(f"The view {layout.name} has a place for labels, and these images have none. Use source-tree.")
        self.layout = layout
        self.subject = subject
        hundred = "cifar100" in subject.name.replace("-", "") or len(subject.classes) == 100
        self._of_data: Words = {"dataset": f"{subject.name}-{subject.version}", "hundred": 100 if hundred else 10}
        self.top = layout.top.format(**self._of_data)
        """The folder that a loader is pointed at, or whose parent is."""
        self._names: dict[int, str] = {}
        """What images are called, the same in every set."""
        chosen, list_notes = with_every_class(layout.name, subject, options.images) if layout.listed else (range(len(subject.samples)), [])
        sets, self.notes = named_sets(layout, subject, options)
        """What a user should know of this view of this data set."""
        self.slices = tuple(self._slices(sets, chosen))
        self._refuse_misfits()
        if layout.numbers_classes:
            paths = [(self.path(self.slices[0], i).removeprefix(f"{self.slices[0].path}/"), i) for i in chosen] if self.slices else []
            self.notes += class_notes(layout.name, subject, paths, allow_missing=options.allow_missing_classes)
        self.notes += [*list_notes, *self._remarks()]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.layout.name

    def _slices(self, sets: Iterable[tuple[str, Words]], chosen: Sequence[int]) -> Iterator[SetSlice]:
        place, samples = self.layout.place, self.subject.samples
        groups: dict[tuple[str, int], list[int]] = {}
        for position, index in enumerate(chosen):
            split = (samples[index].split or "test") if "{split" in place else ""
            groups.setdefault((split, position // SHARD if "{shard" in place else 0), []).append(index)
        of_all = self._of_data | {"top": self.top}
        if "{archives" in self.layout.model_dump_json():
            of_all["archives"] = _archives_id(self.subject.manifest)
        rows: Counter[str] = Counter()
        for set_id, words in sets:
            of_set = of_all | {"set": set_id, "marked_set": marked(set_id), "lettered_set": set_id, "letter": ""}
            of_set |= self.subject.labels(set_id) | words
            for (split, shard), indices in groups.items():
                of_slice = of_set | {"split": split, "shard": shard}
                path = place.format(**of_slice)
                yield SetSlice(set_id, path, indices, rows[path] if self.layout.container == "arrays" else None, of_slice)
                rows[path] += len(indices)

    def _refuse_misfits(self) -> None:
        """Raise `BuildError` for samples and names that the layout has no place for."""
        layout, subject = self.layout, self.subject
        if layout.splits:
            strange = {s.split for s in subject.samples} - {None, *layout.splits}
            known = " and ".join(layout.splits)
            refuse(layout.name, [f"split {s!r}: the view has {known}" for s in sorted(map(str, strange))], "Choose another view.")
        if layout.own_names:
            other = [
                f"{s.path}: its suffix is neither that of a JPEG nor .png" for s in subject.samples if s.path and not kept_suffix(s.path)
            ]
            refuse(layout.name, other, "Images keep their names there. Choose another view.")
        if not layout.blanks:
            blank = [s.id for s in subject.samples if " " in s.id or " " in subject.classes[s.class_index].folder]
            then = "The lists separate path and label by a blank: rename, and build again."
            refuse(layout.name, [f"{i}: has a blank in its path" for i in blank], then)
        for text in layout.beside:
            most = 0 if text.labels is None else int(np.iinfo(text.labels).max)
            label = max((s.class_index for s in subject.samples), default=0) if most else 0
            file = text.path.rpartition("/")[2]
            problems = [f"label {label}: {file} is {text.labels}, 0 to {most}"] * (label > most)
            refuse(layout.name, problems, "Choose another view, such as webdataset.")
        texts = {path.casefold(): path for path in self.text_files()}
        taken = [
            f"{images.words['corruption']}: {texts[images.path.casefold()].rpartition('/')[2]} holds the labels"
            for images in self.slices
            if images.path.casefold() in texts
        ]
        refuse(layout.name, list(dict.fromkeys(taken)), "Choose another name in the file of severities.")
        if layout is not LAYOUTS.get(layout.name):
            files = Counter(path.casefold() for path in self._targets())
            twice = [f"{path}: two images, or an image and a text, would lie there" for path, count in files.items() if count > 1]
            refuse(layout.name, twice, "Put more words into its place, image or path, such as {set} or {index}.")

    def _remarks(self) -> Iterator[str]:
        samples = self.subject.samples
        splits = list(dict.fromkeys(sample.split or "test" for sample in samples))
        for remark in self.layout.remarks:
            if len(samples) != remark.unless_samples and len(splits) != remark.unless_splits:
                yield remark.text.format(samples=len(samples), split=splits[0])

    @cached_property
    def slices_of(self) -> Mapping[str, Sequence[SetSlice]]:
        """Set id -> its slices."""
        return _grouped((images.set_id, images) for images in self.slices)

    @cached_property
    def slices_at(self) -> Mapping[str, Sequence[SetSlice]]:
        """Path of a folder, array or archive -> the slices that lie there."""
        return _grouped((images.path, images) for images in self.slices)

    def set_paths(self) -> Mapping[str, Sequence[str]]:
        """Return set id -> its folder, or every array that has rows of it."""
        return {set_id: [images.path for images in slices] for set_id, slices in self.slices_of.items()}

    @cached_property
    def array_rows(self) -> Mapping[str, int]:
        """Path of every array of images -> its rows; empty where images are files."""
        arrays = self.slices_at if self.layout.container == "arrays" else {}
        return {path: sum(len(images.samples) for images in slices) for path, slices in arrays.items()}

    def location(self, set_id: str, index: int) -> tuple[str, int | None]:
        """Return where ``build --view`` puts an image: path, and row in an array."""
        if self.layout.container == "files":
            return self.path(self.slices_of[set_id][-1], index), None
        for images in self.slices_of[set_id]:
            position = int(np.searchsorted(images.samples, index))
            if position < len(images.samples) and images.samples[position] == index:
                return images.path, (images.row or 0) + position
        raise KeyError(f"sample {index} of {set_id} is in no array")

    def path(self, images: SetSlice, index: int) -> str:
        """Return the file of an image."""
        return f"{images.path}/{self.image_name(images, index)}"

    def image_name(self, images: SetSlice, index: int) -> str:
        """Return what an image is called in its folder or tar."""
        of_all = "{letter" not in self.layout.image and "set}" not in self.layout.image
        if of_all and index in self._names:
            return self._names[index]
        name = self._names[index] = self.layout.image.format(**self.words(images, index))
        return name

    def words(self, images: SetSlice, index: int) -> dict[str, Any]:
        """Return what the words of a template are for an image."""
        sample = self.subject.samples[index]
        folder = "" if sample.label is None else self.subject.classes[sample.class_index].folder
        return {
            **images.words,
            "class": folder,
            "image": sample.id.removeprefix(f"{folder}/"),
            "id": sample.id,
            "label": sample.label,
            "index": index,
            "number": f"{index:0{len(str(len(self.subject.samples) - 1))}d}",
            "source": own_path(sample.path, sample.id, self.subject.format),
            "suffix": FORMATS[self.subject.format][1],
            "ext": "png" if self.subject.format == "png" else "jpg",
        }

    def text_files(self) -> Mapping[str, tuple[Text, Sequence[SetSlice]]]:
        """Return path of every text -> what it is, and the slices that it is of."""
        files: dict[str, tuple[Text, list[SetSlice]]] = {}
        for text in self.layout.beside:
            for images in self.slices:
                files.setdefault(text.path.format(**images.words), (text, []))[1].append(images)
        return files

    def paths(self) -> Iterator[str]:
        """Yield the relative path of every file of the view but VIEW.json."""
        if self.layout.container == "files":
            yield from (self.path(images, index) for images in self.slices for index in images.samples)
        else:
            yield from self.slices_at
        yield from self.text_files()

    def _targets(self) -> Iterator[str]:
        """Yield everything that is written, as often as it is: files, arrays, tars and their members."""
        yield from self.text_files()
        if self.layout.container == "arrays":
            yield from self.slices_at
            return
        for images in self.slices:
            if self.layout.container == "tars":
                yield images.path
            for index in images.samples:
                yield self.path(images, index)
                for text in self.layout.with_each:
                    yield f"{images.path}/{text.path.format(**self.words(images, index))}"

    def texts(self, sha256s: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield what is neither image nor array: labels, lists, metadata; `sha256s` are those of the other files by path."""
        for path, (text, slices) in self.text_files().items():
            yield path, text_bytes(self, text, slices, sha256s)


def _grouped(pairs: Iterable[tuple[str, SetSlice]]) -> Mapping[str, Sequence[SetSlice]]:
    groups: dict[str, list[SetSlice]] = {}
    for key, images in pairs:
        groups.setdefault(key, []).append(images)
    return groups


def view_of_build(
    view: str,
    *,
    name: str,
    version: str,
    sets: Iterable[SetSpec],
    samples: Sequence[Sample],
    classes: tuple[ClassRecord, ...],
    encoding: Encoding,
) -> View:
    """Return where the images of ``build --view`` go, so that they are written once, where a loader wants them.

    Raises
    ------
    BuildError
        The view cannot be built straight into, or the sets and samples do not fit into it.
    """
    layout = get_layout(view)
    if not layout.buildable:
        able = ", ".join(name for name, other in LAYOUTS.items() if other.buildable)
        raise BuildError(
            f"A build cannot write straight into the view {view}, only into {able}. Build first, then `corruptset export {view}`."
        )
    refs = tuple(SetRef.of(s.id, s.aliases, s.stages) for s in sorted(sets, key=lambda s: s.id))
    made = View(layout, Subject(name, version, refs, samples, classes, encoding.format), ViewOptions())
    if made.array_rows and not encoding.lossless:
        raise BuildError(
            f"The view {view} holds arrays of pixels, and the recipe {name} stores {encoding.format.upper()}, with loss. "
            "Choose a recipe with a lossless encoding (png), or build first and export."
        )
    return made


def view_record(view: View) -> dict[str, Any]:
    """Return what a manifest says of its view, without the view's sets: what must be equal for two builds to be one."""
    flags = {"numbered": view.layout.numbered, "own_names": view.layout.own_names}
    return {"view": view.name, "top": view.top, **{name: True for name, set_ in flags.items() if set_}}


def _refuse_unused(layout: Layout, options: ViewOptions) -> None:
    """Raise `BuildError` for an option that the view has no use for."""
    flags = {
        "--severities": options.severities and layout.names not in ("severities", "one"),
        "--list": options.images and not layout.listed,
        "--allow-missing-classes": options.allow_missing_classes and not layout.numbers_classes,
    }
    if unused := [flag for flag, extra in flags.items() if extra]:
        raise BuildError(f"The view {layout.name} does not take {', '.join(unused)}. Leave {'it' if len(unused) == 1 else 'them'} out.")


def refuse_regions(layout: Layout) -> None:
    """Raise `BuildError` for a view that regions of images do not go into, with those that they do."""
    if layout.whole_images:
        others = ", ".join(name for name, other in LAYOUTS.items() if not other.whole_images)
        raise BuildError(
            f"The view {layout.name} is of whole images: its loaders take each row or name for an image of the source, and here the "
            f"samples are regions of images. Views that take regions: {others}."
        )


def marked(set_id: str) -> str:
    """Return a set's id with a sign that is in no id before each word that names a split."""
    return _SPLIT.sub(r"=\g<0>", set_id)


def _archives_id(manifest: Manifest | None) -> str:
    """Return twelve digits that differ where an archive has other images, labels or names.

    mlcroissant extracts an archive once for each name. The pixels of lossless images follow from the digest, whichever library stored them.
    Those of JPEGs do not: their hashes are in the rows.
    """
    assert manifest is not None  # nothing is built straight into tars
    rows = {set_path(s.id) for s in manifest.sets} if manifest.encoding["format"] == "jpeg" else set()
    stored = [f.sha256 for f in manifest.files if f.path in rows]
    return digits(canonical_sha256([manifest.digest, manifest.encoding["format"], stored]))[:12]
