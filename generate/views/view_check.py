"""A view against its build: every image against the build's records, every other file made again."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError
from ...manifests.disk.listing import empty_folders, list_files
from ...manifests.images.arrays import ArrayFile, NotAShard
from ...manifests.images.pictures import NotAPicture, decode
from ...manifests.reader import DataSet
from ...manifests.reading.image_set import ImageSet
from ...manifests.records.digests import sha256_bytes, sha256_file
from ...manifests.records.models import ImageRecord
from ...manifests.records.report import Problem, Progress, VerificationReport, printable
from ...manifests.verify.ladder import verify_directory
from ...manifests.verify.views import VIEW, ViewRecord, load_view
from ...pixels import pixel_digest
from .layouts import get_layout, layout_of
from .subject import Subject, ViewOptions
from .texts import beside
from .view import SetSlice, View


def check_view(directory: str | Path, view: str | Path, *, progress: Progress | None = None) -> VerificationReport:
    """Check a view image by image against the build that it was made from.

    Parameters
    ----------
    directory : path
        The build; its records are checked first (its images are not: that is `verify` of the build).
    view : path
        The folder that holds VIEW.json.
    progress : callable, optional
        Called with the step, what is done and the total.

    Returns
    -------
    VerificationReport
        Of the view; where the build's records are wrong, of the build.
    """
    records = verify_directory(directory, level="structure")
    if not records.ok:
        return records
    root, data = Path(view), DataSet(directory)
    report = VerificationReport(printable(str(view)), "pixels", data.digest)
    record = load_view(root)
    if not isinstance(record, ViewRecord):
        report.add(record)
        return report
    if record.digest != data.digest:
        report.add([Problem(VIEW, "digest", f"the view is of the build {record.digest}; {printable(str(directory))} is {data.digest}")])
        return report
    try:
        # VIEW.json may come from anywhere: options that make no view are its mistake
        layout = get_layout(record.view) if record.layout is None else layout_of(record.layout, f"{VIEW}: layout")
        made = View(layout, Subject.of(data).only(s.id for s in record.sets), ViewOptions.model_validate(record.options))
    except (CorruptsetError, TypeError, ValueError, AttributeError) as e:
        report.add([Problem(VIEW, "records", f"does not describe a view of this build: {e}")])
        return report
    listing = list_files(root)
    total = len(made.subject.sets)
    report.add(listing.problems, Counter(files=len(listing.files), sets=total))
    expected = set(made.paths())
    present = set(listing.files) - {VIEW}
    report.add(Problem(p, "unexpected", "the view has no such file") for p in sorted(present - expected))
    report.add(Problem(p, "missing", "the view has this file") for p in sorted(expected - present) if not listing.hides(p))
    report.add(empty_folders(listing, expected))
    for done, (set_id, images) in enumerate(groupby(_images(made, root), key=lambda image: image.set_id)):
        if progress is not None:
            progress("sets", done, total)
        stored = data[set_id]
        for image in images:
            if image.file in present:
                report.add(_problems(image, stored), Counter(images=1))
    hashes = {p: sha256_file(root / p) for p in sorted(present & expected) if p.endswith(".tar")}
    # what pads a tar is no image, and is not made again
    for file in record.files:
        if hashes.get(file.path, file.sha256) != file.sha256:
            report.add([Problem(file.path, "hash", f"has {hashes[file.path]}, recorded in {VIEW} is {file.sha256}")])
    for path, text in made.texts(hashes):
        if path in present and (root / path).read_bytes() != text:
            report.add([Problem(path, "records", "says other things than the build's records")])
    report.problems = sorted(set(report.problems))
    return report


@dataclass(frozen=True)
class _Image:
    """An image of a view, as it lies there."""

    set_id: str
    index: int
    file: str
    """Relative path of the file that it is, or is in."""
    part: str
    """Empty; or ``#<row>`` of an array, ``:<member>`` of a tar."""
    data: bytes | NDArray[np.uint8] | None
    """Encoded bytes, or pixels; None where it is missing."""


def _problems(image: _Image, images: ImageSet) -> Iterator[Problem]:
    row: ImageRecord = images.rows[image.index]
    where, lossless, data = printable(image.file + image.part), images.encoding == "png", image.data
    if data is None:
        yield Problem(where, "decode", f"image {image.index} of set {image.set_id} is not there as it should be")
        return
    if isinstance(data, bytes):
        if (sha256 := sha256_bytes(data)) in {f.sha256 for f in row.files}:
            return
        if not lossless:
            yield Problem(where, "hash", f"has {sha256}, the build's is {row.files[0].sha256}")
            return
        try:
            data = decode(data, "png")
        except NotAPicture as e:
            yield Problem(where, "decode", str(e))
            return
    pixels = pixel_digest(np.ascontiguousarray(data))
    expected = row.pixels if lossless else pixel_digest(images.image(image.index))
    if pixels != expected:
        yield Problem(where, "pixels", f"the pixels have {pixels}, the build's are {expected}")


def _images(view: View, root: Path) -> Iterator[_Image]:
    """Yield every image that should be in a view, as it lies there."""
    for path, slices in view.slices_at.items():
        array: ArrayFile | None = None
        if view.layout.container == "arrays":
            with suppress(NotAShard, OSError):
                array = ArrayFile(root / path)
        whole = array is not None and array.rows == view.array_rows[path]
        for images in slices:
            if view.layout.container == "tars":
                yield from _archived(view, root, images)
                continue
            for position, index in enumerate(images.samples):
                if images.row is not None:
                    row = images.row + position
                    pixels = array.images[row] if array is not None and whole else None
                    yield _Image(images.set_id, index, path, f"#{row}", pixels)
                else:
                    file, data = view.path(images, index), None
                    with suppress(OSError):
                        data = (root / file).read_bytes()
                    yield _Image(images.set_id, index, file, "", data)


def _archived(view: View, root: Path, images: SetSlice) -> Iterator[_Image]:
    """Yield the images of an archive, read in order; what stands beside an image is checked on the way."""
    members = _regular(root / images.path)
    for index in images.samples:
        wanted = [(view.image_name(images, index), None), *beside(view, images, index)]
        found = [next(members, ("", b"")) for _ in wanted]
        pairs = zip(wanted, found, strict=True)
        good = all(member == name and data in (None, content) for (name, data), (member, content) in pairs)
        yield _Image(images.set_id, index, images.path, f":{wanted[0][0]}", found[0][1] if good else None)
    if next(members, None) is not None:
        yield _Image(images.set_id, images.samples[-1], images.path, ": what follows its last image", None)


def _regular(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the members of a tar, as far as it can be read."""
    with suppress(OSError, tarfile.TarError), tarfile.open(path, "r|") as archive:
        for info in archive:
            file = archive.extractfile(info) if info.isreg() else None
            yield info.name, b"" if file is None else file.read()
