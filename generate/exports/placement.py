"""A view: where a layout puts every image of a data set.

It follows from the records and the options alone, so it can be checked later.
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
from ...manifests.images.pictures import FORMATS, named_format, own_path
from ...manifests.paths import holds_region_table, set_path
from ...manifests.records.models import ClassRecord, Manifest
from ..pixels.encoding import Encoding
from ..recipes.set_spec import SetSpec
from ..sources.image_listing import kept_suffix
from ..sources.source import Sample, path_in_class
from .class_folders import class_notes, with_every_class
from .contents import ViewContents, ViewOptions, ViewSet, refuse
from .layouts import LAYOUTS, Layout, Text, get_layout
from .set_names import Words, named_sets

SHARD = 5000
"""Samples of one archive: 125 MB of photographs, 15 MB of 32-pixel images."""
_SPLIT = re.compile(
    r"(?<![a-z])(train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])|(?<![^/])__"
)
"""What names a split (``SPLIT_KEYWORDS`` in data_files.py of `datasets`), and how a folder begins that it does not look
into.
"""


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

    def __init__(self, layout: Layout, contents: ViewContents, options: ViewOptions) -> None:
        samples = contents.samples
        if contents.manifest is not None and holds_region_table(contents.manifest):
            raise BuildError(
                f"{contents.name} holds its regions as a table: a view would be of its whole images. Build it with its "
                "images with --store images."
            )
        if any(sample.region is not None for sample in samples):
            refuse_regions(layout)
        _refuse_unused(layout, contents, options)
        self.layout, self.contents = layout, contents
        hundred = "cifar100" in contents.name.replace("-", "") or len(contents.classes) == 100
        self._words: Words = {"dataset": f"{contents.name}-{contents.version}", "hundred": 100 if hundred else 10}
        self.top = layout.top.format(**self._words)
        """The folder that a loader is pointed at, or whose parent is."""
        self._words["top"] = self.top
        if "{archives" in layout.model_dump_json():
            self._words["archives"] = _archives_id(contents.manifest)
        self._names: dict[int, str] = {}
        """What images are called, the same in every set."""
        chosen: Sequence[int] = range(len(samples))
        list_notes: list[str] = []
        if layout.listed:
            chosen, list_notes = with_every_class(layout.name, contents, options.images)
        sets, self.notes = named_sets(layout, contents, options)
        """What a user should know of this view of this data set."""
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
                "marked_set": marked(set_id),
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
        """Raise `BuildError` for samples and names that the layout has no place for."""
        layout, samples, classes = self.layout, self.contents.samples, self.contents.classes
        problems: list[str] = []
        if layout.splits:
            known = " and ".join(layout.splits)
            strange = {s.split for s in samples} - {None, *layout.splits}
            problems += [f"split {split!r}: the view has {known}" for split in sorted(map(str, strange))]
        if layout.own_names:
            problems += [
                f"{s.path}: its suffix is neither that of a JPEG nor .png, and images keep their names there"
                for s in samples
                if s.path and not kept_suffix(s.path)
            ]
        if not layout.blanks:
            blank = [s.id for s in samples if " " in s.id or " " in classes[s.class_index].folder]
            problems += [
                f"{i}: has a blank in its path, and the lists separate path and label by a blank" for i in blank
            ]
        for text in (text for text in layout.beside if text.labels):
            most, top = max((s.class_index for s in samples), default=0), np.iinfo(str(text.labels)).max
            if most > top:
                problems.append(f"label {most}: {text.path.rpartition('/')[2]} is {text.labels}, 0 to {top}")
        refuse(layout.name, problems, "Mend the source and build again, or choose another view, such as webdataset.")
        own = layout is not LAYOUTS.get(layout.name)
        if own:
            refuse(layout.name, list(self._suffix_problems()), "Change the layout, or build with another encoding.")
        if layout.own_names and self.contents.format == "png":
            self._refuse_equal_names()
        # names of our own layouts' images differ where ids do; what a user calls a set or an image may be anything
        files = Counter(path.casefold() for path in (self.paths() if own or self.array_rows else self.slices_at))
        if own and layout.container == "tars":
            for images in self.slices:
                paths = (path for i in images.samples for path in self._member_paths(images, i))
                files.update(f"{images.path}/{path}".casefold() for path in paths)
        twice = [path for path, count in files.items() if count > 1]
        then = (
            "Put more words into its place, image or path, such as {set} or {index}."
            if own
            else "Name the set otherwise (--severities): capitals do not count."
        )
        refuse(layout.name, [f"{path}: two images, or an image and a text, would lie there" for path in twice], then)

    def _refuse_equal_names(self) -> None:
        """Raise `BuildError` where two names that differ only in their suffix would be one name in .png."""
        names: dict[str, list[str]] = {}
        for sample in self.contents.samples:
            path = own_path(sample.path, sample.id, self.contents.format)
            names.setdefault(path.casefold(), []).append(sample.path or path)
        same = [f"{' and '.join(paths)}: both would be called .png" for paths in names.values() if len(paths) > 1]
        refuse(self.layout.name, same, "Rename them in the source, or use a recipe that stores JPEG.")

    def _suffix_problems(self) -> Iterator[str]:
        """Yield names that the layout of a user gives to images of another format."""
        for name, form in self._names_and_formats():
            named = named_format(name)
            if named not in (None, "png", form):
                yield (
                    f"{name}: the suffix is not that of the stored {form.upper()}; write {{ext}} or {{suffix}} in its "
                    "place"
                )

    def _names_and_formats(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the stored format of every image of the first set, where images have names."""
        if self.layout.container != "arrays":
            for images in next(iter(self.slices_of.values()), ()):
                yield from ((self.image_name(images, i), self.contents.stored_format(i)) for i in images.samples)

    def _format_notes(self) -> Iterator[str]:
        """Yield notes on names whose suffix is not that of the stored images."""
        if self.contents.manifest is not None:  # a build encodes every image as its name says
            named = self._names_and_formats()
            again = [name for name, form in named if named_format(name) == "png" and form == "jpeg"]
            if again:
                yield (
                    f"The dataset stores JPEG, and the names of {len(again):,} images for each set end in .png "
                    f"({first_few(again, 2)}): those files are PNGs with the pixels of the stored images, which take "
                    "more space."
                )
        if self.layout.own_names and self.contents.format == "png":
            renamed = [s.path for s in self.contents.samples if s.path and named_format(s.path) == "jpeg"]
            if renamed:
                yield (
                    f"The dataset stores PNG, and the names of {len(renamed):,} images for each set end in the suffix "
                    f"of a JPEG ({first_few(renamed, 2)}): the suffix of those files is .png instead, so change it in "
                    "annotation files too."
                )

    def _member_paths(self, images: SetSlice, index: int) -> Iterator[str]:
        yield self.image_name(images, index)
        yield from (text.path.format(**self.words(images, index)) for text in self.layout.with_each)

    @cached_property
    def slices_of(self) -> Mapping[str, Sequence[SetSlice]]:
        """Set id -> its slices."""
        return _grouped((images.set_id, images) for images in self.slices)

    @cached_property
    def slices_at(self) -> Mapping[str, Sequence[SetSlice]]:
        """Path of a folder, array or archive -> the slices that lie there."""
        return _grouped((images.path, images) for images in self.slices)

    @cached_property
    def texts(self) -> Mapping[str, tuple[Text, Sequence[SetSlice]]]:
        """Path of every text -> what it is, and its slices."""
        files: dict[str, tuple[Text, list[SetSlice]]] = {}
        for text in self.layout.beside:
            for images in self.slices:
                files.setdefault(text.path.format(**images.words), (text, []))[1].append(images)
        return files

    @property
    def set_paths(self) -> Mapping[str, Sequence[str]]:
        """Set id -> its folder, or every array that has rows of it."""
        return {set_id: [images.path for images in slices] for set_id, slices in self.slices_of.items()}

    @cached_property
    def array_rows(self) -> Mapping[str, int]:
        """Path of every array of images -> its rows; empty where images are files."""
        arrays = self.slices_at if self.layout.container == "arrays" else {}
        return {path: sum(len(images.samples) for images in slices) for path, slices in arrays.items()}

    def paths(self) -> Iterator[str]:
        """Yield the relative path of every file but VIEW.json."""
        if self.layout.container == "files":
            yield from (self.path(images, index) for images in self.slices for index in images.samples)
        else:
            yield from self.slices_at
        yield from self.texts

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
            "source": own_path(sample.path, sample.id, self.contents.format),
            "suffix": FORMATS[form][1],
            "ext": "png" if form == "png" else "jpg",
        }

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest says of its view, but for the sets."""
        flags = {"numbered": self.layout.numbered, "own_names": self.layout.own_names}
        return {"view": self.layout.name, "top": self.top, **{name: True for name, set_ in flags.items() if set_}}


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
    """Return where the images of ``build --view`` go, as a loader wants them.

    Raises
    ------
    BuildError
        The view cannot be built straight into, or the sets and samples do not fit into it.
    """
    layout = get_layout(view)
    if not layout.buildable:
        able = ", ".join(name for name, other in LAYOUTS.items() if other.buildable)
        raise BuildError(
            f"A build cannot write straight into the view {view}, only into {able}. Build first, then `corruptset "
            f"export {view}`."
        )
    refs = tuple(ViewSet.of(s) for s in sorted(sets, key=lambda s: s.id))
    made = View(layout, ViewContents(name, version, refs, samples, classes, encoding.format), ViewOptions())
    if made.array_rows and not encoding.lossless:
        raise BuildError(
            f"The view {view} holds arrays of pixels, and the recipe {name} stores {encoding.format.upper()}, with "
            "loss. Choose a recipe with a lossless encoding (png), or build first and export."
        )
    return made


def refuse_regions(layout: Layout) -> None:
    """Raise `BuildError` where regions do not go into a view, with views that take them."""
    if layout.whole_images:
        others = ", ".join(name for name, other in LAYOUTS.items() if not other.whole_images)
        raise BuildError(
            f"The view {layout.name} is of whole images: its loaders take each row or name for an image of the "
            f"source, and here the samples are regions of images. Views that take regions: {others}."
        )


def _refuse_unused(layout: Layout, contents: ViewContents, options: ViewOptions) -> None:
    """Raise `BuildError` for options that a view has no use for, and for missing labels."""
    flags = {
        "--severities": options.severities and layout.names not in ("severities", "one"),
        "--list": options.images and not layout.listed,
        "--allow-missing-classes": options.allow_missing_classes and not layout.numbers_classes,
    }
    if unused := ", ".join(flag for flag, extra in flags.items() if extra):
        raise BuildError(f"The view {layout.name} does not take {unused}. Leave it out.")
    if layout.labelled and not contents.classes:
        raise BuildError(f"The view {layout.name} has a place for labels, and these images have none. Use source-tree.")


def marked(set_id: str) -> str:
    """Return a set's id with a sign before each word that names a split."""
    return _SPLIT.sub(r"=\g<0>", set_id)


def _archives_id(manifest: Manifest | None) -> str:
    """Return twelve digits that differ where an archive has other images, labels or names.

    mlcroissant extracts an archive once for each name. The pixels of lossless images follow from the digest, whichever
    library stored them. Those of JPEGs do not: their hashes are in the rows.
    """
    assert manifest is not None  # nothing is built straight into tars
    rows = {set_path(s.id) for s in manifest.sets} if manifest.encoding["format"] == "jpeg" else set()
    stored = [f.sha256 for f in manifest.files if f.path in rows]
    return digits(canonical_sha256([manifest.digest, manifest.encoding["format"], stored]))[:12]
