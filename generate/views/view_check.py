"""A view against its build: every image against the build's records, every other file made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ...errors import CorruptsetError
from ...manifests.disk.listing import empty_folders, list_files, printable
from ...manifests.images.pictures import NotAPicture, decode
from ...manifests.reader import DataSet, ImageSet
from ...manifests.records.digests import sha256_bytes, sha256_file
from ...manifests.records.models import ImageRecord
from ...manifests.records.report import Problem, VerificationReport
from ...manifests.verify.ladder import verify_directory
from ...manifests.verify.views import VIEW, ViewRecord, load_view
from ...pixels import pixel_digest
from .layout import Layout, ViewImage, ViewOptions
from .registry import make_layout
from .subject import Subject

Progress = Callable[[str, int, int], None]


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
    told = progress or (lambda *_: None)
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
        # VIEW.json may come from anywhere: options that make no layout are its mistake
        layout = make_layout(record.view, Subject.of(data).only(s.id for s in record.sets), ViewOptions.model_validate(record.options))
    except (CorruptsetError, TypeError, ValueError, AttributeError) as e:
        report.add([Problem(VIEW, "records", f"does not describe a view of this build: {e}")])
        return report
    _check(root, data, layout, record, report, told)
    report.problems = sorted(set(report.problems))
    return report


def _check(root: Path, data: DataSet, layout: Layout, record: ViewRecord, report: VerificationReport, told: Progress) -> None:
    listing = list_files(root)
    report.add(listing.problems, Counter(files=len(listing.files), sets=len(layout.subject.sets)))
    expected = set(layout.paths())
    there = set(listing.files) - {VIEW}
    report.add(Problem(printable(p), "unexpected", "the view has no such file") for p in sorted(there - expected))
    report.add(Problem(printable(p), "missing", "the view has this file") for p in sorted(expected - there) if not listing.hides(p))
    report.add(empty_folders(listing, expected))
    current: ImageSet | None = None
    done = 0
    for image in layout.read(root):
        if current is None or current.id != image.set_id:
            current = data[image.set_id]
            told("sets", done, len(layout.subject.sets))
            done += 1
        if image.file in there:
            report.add(_image(image, current), Counter(images=1))
    hashes = {p: sha256_file(root / p) for p in sorted(there & expected) if p.endswith(".tar")}
    # what pads a tar is no image, and is not made again
    for file in record.files:
        if hashes.get(file.path, file.sha256) != file.sha256:
            report.add([Problem(printable(file.path), "hash", f"has {hashes[file.path]}, recorded in {VIEW} is {file.sha256}")])
    for path, text in layout.texts(hashes):
        if path in there and (root / path).read_bytes() != text:
            report.add([Problem(printable(path), "records", "says other things than the build's records")])


def _image(image: ViewImage, images: ImageSet) -> Iterator[Problem]:
    row: ImageRecord = images.rows[image.index]
    where = printable(image.file + image.part)
    if image.data is None:
        yield Problem(where, "decode", f"image {image.index} of set {image.set_id} is not there as it should be")
        return
    lossless = images.encoding == "png"
    if isinstance(image.data, np.ndarray):
        pixels = np.ascontiguousarray(image.data)
        wanted = row.pixels if lossless else pixel_digest(images.image(image.index))
        if (got := pixel_digest(pixels)) != wanted:
            yield Problem(where, "pixels", f"the pixels have {got}, the build's are {wanted}")
        return
    if sha256_bytes(image.data) in {f.sha256 for f in row.files}:
        return
    if not lossless:
        yield Problem(where, "hash", f"has {sha256_bytes(image.data)}, the build's is {row.files[0].sha256}")
        return
    try:
        got = pixel_digest(decode(image.data, "png"))
    except NotAPicture as e:
        yield Problem(where, "decode", str(e))
        return
    if got != row.pixels:
        yield Problem(where, "pixels", f"the pixels have {got}, the build's are {row.pixels}")
