"""A view against its build: every image against the build's records, every other file made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from ...errors import CorruptsetError
from ...manifests.disk.listing import empty_folders, list_files
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
from .view import View
from .view_images import ViewImage, read_view


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
    _check(root, data, made, record, report, progress or (lambda *_: None))
    report.problems = sorted(set(report.problems))
    return report


def _check(root: Path, data: DataSet, made: View, record: ViewRecord, report: VerificationReport, progress: Progress) -> None:
    listing = list_files(root)
    total = len(made.subject.sets)
    report.add(listing.problems, Counter(files=len(listing.files), sets=total))
    expected = set(made.paths())
    present = set(listing.files) - {VIEW}
    report.add(Problem(p, "unexpected", "the view has no such file") for p in sorted(present - expected))
    report.add(Problem(p, "missing", "the view has this file") for p in sorted(expected - present) if not listing.hides(p))
    report.add(empty_folders(listing, expected))
    for done, (set_id, images) in enumerate(groupby(read_view(made, root), key=lambda image: image.set_id)):
        progress("sets", done, total)
        stored = data[set_id]
        for image in images:
            if image.file in present:
                report.add(_image(image, stored), Counter(images=1))
    hashes = {p: sha256_file(root / p) for p in sorted(present & expected) if p.endswith(".tar")}
    # what pads a tar is no image, and is not made again
    for file in record.files:
        if hashes.get(file.path, file.sha256) != file.sha256:
            report.add([Problem(file.path, "hash", f"has {hashes[file.path]}, recorded in {VIEW} is {file.sha256}")])
    for path, text in made.texts(hashes):
        if path in present and (root / path).read_bytes() != text:
            report.add([Problem(path, "records", "says other things than the build's records")])


def _image(image: ViewImage, images: ImageSet) -> Iterator[Problem]:
    row: ImageRecord = images.rows[image.index]
    where = printable(image.file + image.part)
    lossless = images.encoding == "png"
    if image.data is None:
        yield Problem(where, "decode", f"image {image.index} of set {image.set_id} is not there as it should be")
        return
    if isinstance(image.data, np.ndarray):
        pixels = pixel_digest(np.ascontiguousarray(image.data))
        expected = row.pixels if lossless else pixel_digest(images.image(image.index))
    elif (sha256 := sha256_bytes(image.data)) in {f.sha256 for f in row.files}:
        return
    elif not lossless:
        yield Problem(where, "hash", f"has {sha256}, the build's is {row.files[0].sha256}")
        return
    else:
        try:
            pixels, expected = pixel_digest(decode(image.data, "png")), row.pixels
        except NotAPicture as e:
            yield Problem(where, "decode", str(e))
            return
    if pixels != expected:
        yield Problem(where, "pixels", f"the pixels have {pixels}, the build's are {expected}")
