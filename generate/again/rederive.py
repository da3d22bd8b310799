"""`verify`: a data set against its manifest, and against its source: samples made again must equal the stored ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ...digests import digest_of, digits
from ...errors import ParameterError
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.disk.remote import data_folder
from ...manifests.images.pictures import decode
from ...manifests.layout import MANIFEST, SAMPLES, set_path
from ...manifests.reader import DataSet
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ImageRecord, SampleRecord
from ...manifests.records.report import Level, Problem, Progress, VerificationReport
from ...manifests.release.release import has_rows
from ...manifests.verify.ladder import verify_directory
from ...manifests.verify.streams import is_stream, verify_stream
from ...manifests.verify.views import is_view, verify_view
from ...pixels import pixel_digest
from ...progress import shows_progress, told
from ...signatures import showing
from ..pixels.encoding import Encoding, encoding_of, parse_encoding
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..recipes.set_spec import SetSpec
from ..sources.source import Source
from ..views.view_check import check_view
from .agreement import differing_classes, differing_paths, matched, refuse_unrecorded_code, refuse_unrecorded_textures
from .from_manifest import maker_of, opened_source, specs_of, spread
from .remake_options import RemakeKeywords, RemakeOptions
from .repair import repair as mend
from .repaired_files import Repaired

MOST_CLASSES = 5
"""Differing classes that are named."""
TOLERATED = 0.01
"""Share of a set's values that may differ where it follows a model's gradients: another machine rounds them otherwise."""


@showing(RemakeOptions)
@shows_progress("verify")
def verify(
    directory: str | Path,
    *,
    level: Level = "pixels",
    rederive: int | Literal["all"] | None = None,
    repair: bool = False,
    source: str | Source | None = None,
    calibration_side: int | None = None,
    view: str | Path | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[RemakeKeywords],
) -> VerificationReport:
    """Check a data set: structure, nothing missing or unexpected, sizes, hashes, pixels; and samples made again.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json; or a view, with VIEW.json; or a stream, with stream.json.
    level : {"structure", "sizes", "hashes", "pixels"}
        How far to climb.
    rederive : int or "all", optional
        So many samples, spread evenly, are made again from the source under every set: their pixel digests and, encoded
        again, their stored bytes must be equal. So lossy files are checked too. Of a set that follows a model's gradients, up to
        `TOLERATED` of its values may differ; the report notes how many do.
    repair : bool
        Make again, from the records and the source, what is wrong or missing, leave the rest untouched, and verify again. The report
        says what was mended; what could not be is a problem of kind ``unmended``.
    source : str or Source, optional
        Where the samples came from; not needed for a build of ``sample``.
    calibration_side : int, optional
        The reference side of the calibration, in place of the one in the manifest.
    view : path, optional
        Check the view that was exported from this data set to there, image by image, against the data set's digests.
    progress : callable or bool, optional
        Called with the step, what is done and the total. By default a bar is shown in a terminal and in a notebook; False shows none.
    **options
        The other fields of `corruptset.generate.again.remake_options.RemakeOptions`: labels, images, groups, frost_textures, surrogate,
        device, jobs.

    Returns
    -------
    VerificationReport
        With everything that is wrong; ``report.raise_for_problems()`` raises for it.

    Raises
    ------
    SourceError
        The source for `rederive` or `repair` is missing, cannot be read, or is another one.
    VerificationError
        Corruptions have other revisions here than in the data set.
    ParameterError
        `rederive` is neither a whole number above 0 nor "all", `repair` is asked for below the highest level, or one of
        them for a view or a stream.
    MachineError, Interrupted, BuildError
        Of `repair`: the disk fails, it is stopped, or a build works in the directory.
    """
    if rederive is not None and rederive != "all" and (isinstance(rederive, bool) or not isinstance(rederive, int) or rederive < 1):
        raise ParameterError(f"rederive is {rederive!r}; expected a number of samples, at least 1, or 'all'.")
    if repair and level != "pixels":
        raise ParameterError(f"level is {level!r}; a repair looks at everything, down to the pixels.")
    report_progress = told(progress)
    directory = data_folder(directory)
    if view is not None or is_view(directory):
        if repair:
            raise ParameterError("A build is repaired, not a view; export the view again.")
        if rederive is not None:
            raise ParameterError("Samples are made again from the source for a build, not for a view.")
        return verify_view(directory, progress=report_progress) if view is None else check_view(directory, view, progress=report_progress)
    remake = RemakeOptions(source=source, **options)
    if is_stream(directory):
        if repair or rederive is not None:
            raise ParameterError(
                "A stream is not made again image by image: the same `corruptset stream` command with another --out makes the same digest."
            )
        return verify_stream(directory, level=level, jobs=remake.workers, progress=report_progress)
    repaired: Repaired | None = None
    if repair:
        before = verify_directory(directory, jobs=remake.workers, progress=report_progress)
        if before.ok and rederive is None:
            before.mended = []
            return before
        repaired = Repaired() if before.ok else mend(directory, before, remake, report_progress)
    rederived = 0
    notes: list[str] = []

    def counted(step: str, done: int, total: int) -> None:
        nonlocal rederived
        rederived = done
        report_progress(step, done, total)

    def again(data: DataSet) -> Iterator[Problem]:
        return made_again(data, None if rederive == "all" else rederive, remake, side=calibration_side, progress=counted, notes=notes)

    report = verify_directory(
        directory,
        level=level,
        rederive=None if rederive is None else again,
        jobs=remake.workers,
        progress=report_progress,
    )
    report.checked["rederived"] = rederived
    report.notes += notes
    if repaired is not None:
        report.mended = sorted(set(repaired.mended))
        report.problems = sorted({*report.problems, *repaired.unmended})
    return report


def made_again(
    data: DataSet,
    count: int | None,
    options: RemakeOptions,
    *,
    side: int | None = None,
    progress: Progress,
    notes: list[str],
) -> Iterator[Problem]:
    """Make samples again under every set and yield what differs; `notes` gets how much sets that follow a model differ.

    Raises
    ------
    SourceError
        The source is not the one that the build was made from: ids, labels and hashes must be equal.
    VerificationError
        Corruptions, textures or the calibration differ from the build's, so its pixels cannot be made here.
    """
    manifest, source = data.manifest, opened_source(data, options)
    samples = matched(data, source)
    for difference in differing_classes(manifest, source)[:MOST_CLASSES]:
        yield Problem(MANIFEST, "rederive", f"the source has other classes: {difference}")
    for difference in differing_paths(data, source, samples):
        yield Problem(SAMPLES, "rederive", difference)
    refuse_unrecorded_code(manifest, data.path)
    refuse_unrecorded_textures(manifest, data.samples, options.frost_textures, data.path)
    preprocessing = parse_preprocessing(manifest.preprocessing)
    encoding = parse_encoding(manifest.encoding)
    picks = spread(len(data.samples), count)
    sets, hashes = _comparable(data, whole=len(picks) == len(data.samples), notes=notes)
    maker = maker_of(manifest, data.path, options.resources, sets, side)
    tree = maker.tree(sets)
    records = {s.id: _records(data, s.id, picks) for s in sets if s.id not in hashes}
    followers = {s.id: _Deviation() for s in sets if s.needs_surrogate}
    for done, index in enumerate(picks):
        progress("rederive", done, len(picks))
        sample = data.samples[index]
        image = source.load(samples[index]).image
        if (size := (image.shape[1], image.shape[0])) != (sample.width, sample.height):
            reason = f"is {size[0]}x{size[1]} in the source, recorded is {sample.width}x{sample.height}"
            yield Problem(SAMPLES, "rederive", f"{sample.id}: {reason}")
        clean = preprocess(image, preprocessing)
        digest = pixel_digest(clean)
        if digest != sample.pixels:
            reason = f"the clean pixels are {digest}, not {sample.pixels}: another release of Pillow decodes or resizes differently"
            yield Problem(SAMPLES, "rederive", f"{sample.id}: {reason}")
            hashes = {}
            continue
        for set_id, images in maker.images(tree, clean[None], [sample.id], [sample.label]):
            if set_id in followers:
                followers[set_id].add(data[set_id].image(index), images[0], encoding_of(data[set_id].rows[index].files[0].path, encoding))
            elif set_id in hashes:
                hashes[set_id].update(bytes.fromhex(digits(pixel_digest(images[0]))))
            elif set_id in records:
                yield from _compare(set_id, sample, records[set_id][index], images[0], encoding)
    progress("rederive", len(picks), len(picks))
    for record in manifest.sets:
        if record.id in hashes and (made := digest_of(hashes[record.id])) != record.pixel_digest:
            yield Problem(MANIFEST, "rederive", f"the set {record.id} has the digest {made}, not {record.pixel_digest}")
    for set_id, deviation in followers.items():
        notes.append(f"{set_id}: {deviation}")
        if deviation.share > TOLERATED:
            yield Problem(set_path(set_id), "rederive", f"{deviation}; at most {TOLERATED:.0%} may differ between machines")


def _comparable(data: DataSet, *, whole: bool, notes: list[str]) -> tuple[list[SetSpec], dict[str, blake3]]:
    """Return the sets that can be compared, and the hash of each that a release has one digest of: then all samples are needed."""
    specs = specs_of(data.manifest)
    followers = {s.id for s in specs if s.needs_surrogate and s.id in data.absent}
    alone = {s.id for s in specs if not has_rows(data, s.id)} - followers
    if followers:
        notes.append(f"{len(followers)} sets follow a model, and their images are not there: they are not compared.")
    if alone and not whole:
        notes.append(f"{len(alone)} sets have one digest each: `--rederive all` compares them.")
    left_out = followers if whole else followers | alone
    return [s for s in specs if s.id not in left_out], {s.id: blake3() for s in specs if whole and s.id in alone}


@dataclass
class _Deviation:
    """How much the images of a set that follows a model differ from those that are stored."""

    values: int = 0
    differing: int = 0
    largest: int = 0

    def add(self, stored: NDArray[np.uint8], image: NDArray[np.uint8], encoding: Encoding) -> None:
        again = image if encoding.lossless else decode(encoding.encode(image), encoding.format)
        difference = np.abs(stored.astype(np.int16) - again) if stored.shape == again.shape else np.full(stored.shape, 255, np.int16)
        self.values += difference.size
        self.differing += int(np.count_nonzero(difference))
        self.largest = max(self.largest, int(difference.max()))

    @property
    def share(self) -> float:
        return self.differing / max(self.values, 1)

    def __str__(self) -> str:
        return f"{self.differing} of {self.values} values differ ({self.share:.2%}), by at most {self.largest}"


def _compare(set_id: str, sample: SampleRecord, record: ImageRecord, image: NDArray[np.uint8], encoding: Encoding) -> Iterator[Problem]:
    got = pixel_digest(image)
    if got != record.pixels:
        yield Problem(set_path(set_id), "rederive", f"{sample.id}: the pixels are {got}, not {record.pixels}")
        return
    encoded: str | None = None
    for stored in record.files:
        if stored.row is not None and encoding.lossless:
            sha256 = sha256_bytes(np.ascontiguousarray(image).data)
        else:
            encoded = sha256 = encoded or sha256_bytes(encoding_of(stored.path, encoding).encode(image))
        if sha256 != stored.sha256:
            where = stored.path if stored.row is None else f"{stored.path}#{stored.row}"
            yield Problem(where, "rederive", f"{sample.id}: the same pixels, encoded again, are {sha256}, not {stored.sha256}")


def _records(data: DataSet, set_id: str, picks: list[int]) -> dict[int, ImageRecord]:
    wanted = set(picks)
    return {r.index: r for r in read_jsonl(data.path / set_path(set_id), ImageRecord) if r.index in wanted}
