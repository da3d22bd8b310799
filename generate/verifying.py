"""`verify`: a data set against its manifest, and against its source: samples made again must come out as they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..corruptions.calibrations import SHIPPED, shipped
from ..corruptions.keys import sample_keys
from ..corruptions.registry import corruption_names, get_corruption
from ..corruptions.stages import Stage, check_images
from ..corruptions.weather.textures import default_textures, load_textures
from ..errors import ParameterError, SourceError, VerificationError, listed
from ..manifests.digests import pixel_digest, sha256_bytes, source_digest
from ..manifests.files import read_jsonl, set_path
from ..manifests.models import ImageRecord, SampleRecord
from ..manifests.reader import DataSet
from ..manifests.report import Problem, VerificationReport
from ..manifests.verifying import Level, verify_directory
from .encoding import Encoding
from .entries import SetSpec
from .preparing import Options
from .preprocessing import parse_preprocessing, preprocess
from .sources.base import SPLIT_SOURCES, BadSample, Sample, Source, open_source
from .tree import grow, walk

Progress = Callable[[str, int, int], None]


def verify(
    directory: str | Path,
    *,
    level: Level = "pixels",
    rederive: int | Literal["all"] | None = None,
    source: str | Source | None = None,
    labels: str | Path | None = None,
    images: str | None = None,
    calibration_side: int | None = None,
    frost_textures: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> VerificationReport:
    """Check a data set: structure, nothing missing or unexpected, sizes, hashes, pixels; and samples made again.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    level : {"structure", "sizes", "hashes", "pixels"}
        How far to climb.
    rederive : int or "all", optional
        So many samples, spread evenly, are made again from the source under every set: their pixel digests and, encoded
        again, their stored bytes must be equal. So lossy files are checked too.
    source : str or Source, optional
        Where the samples came from; not needed for a build of ``sample``.
    labels : path, optional
        What `build` was given: it says where labels come from.
    images : str, optional
        The name of the dataset of images, for ``hdf5``. Splits are those of the data set.
    calibration_side : int, optional
        The reference side of the calibration, in place of the one in the manifest.
    frost_textures : path, optional
        The directory of the user's own frost textures that the build was made with.
    jobs : int, optional
        Processes; None is one a core.
    progress : callable, optional
        Called with the step, what is done and the total.

    Returns
    -------
    VerificationReport
        With everything that is wrong; ``report.raise_for_problems()`` raises for it.

    Raises
    ------
    SourceError
        The source for `rederive` is missing, cannot be read, or is another one.
    VerificationError
        Corruptions have other revisions here than in the data set.
    ParameterError
        `rederive` is neither a whole number above 0 nor "all".
    """
    if rederive is not None and rederive != "all" and (isinstance(rederive, bool) or not isinstance(rederive, int) or rederive < 1):
        raise ParameterError(f"rederive is {rederive!r}; expected a number of samples, at least 1, or 'all'.")
    told = progress or (lambda step, done, total: None)
    made = 0

    def counted(step: str, done: int, total: int) -> None:
        nonlocal made
        made = done
        told(step, done, total)

    def again(data: DataSet, count: int | None) -> Iterator[Problem]:
        opened = _source(data, source, labels, images)
        return made_again(data, count, opened, side=calibration_side, frost_textures=frost_textures, progress=counted)

    report = verify_directory(
        directory,
        level=level,
        rederive=None if rederive is None else again,
        rederive_count=None if rederive == "all" else rederive,
        jobs=Options(jobs=jobs).workers,
        progress=progress,
    )
    report.checked["rederived"] = made
    return report


def _source(data: DataSet, source: str | Source | None, labels: str | Path | None, images: str | None) -> Source:
    if source is None:
        if data.manifest.source.name != "sample":
            raise SourceError(
                f"{data.path} was made from the source '{data.manifest.source.name}': name it with --source (and --labels), "
                "so that samples can be made again from it."
            )
        source = "sample"
    if not isinstance(source, str):
        return source
    splits = sorted({s.split for s in data.samples if s.split is not None}) if data.manifest.source.name in SPLIT_SOURCES else []
    split = "all" if len(splits) > 1 else splits[0] if splits else None
    return open_source(source, labels=labels, split=split, images=images)


def made_again(
    data: DataSet,
    count: int | None,
    source: Source,
    *,
    side: int | None = None,
    frost_textures: str | Path | None = None,
    progress: Progress,
) -> Iterator[Problem]:
    """Make samples again under every set and yield what comes out otherwise.

    Raises
    ------
    SourceError
        The source is not the one that the build was made from: ids, labels and hashes must be equal.
    VerificationError
        Corruptions, textures or the calibration differ from the build's, so its pixels cannot be made here.
    """
    manifest = data.manifest
    found = _match(data, source)
    resources = {} if frost_textures is None else {"textures": load_textures(frost_textures)}
    _check_revisions(data)
    _check_textures(data, frost_textures)
    side = side or int(manifest.recipe.get("calibration_side") or _side(manifest.recipe.get("calibration")))
    sets = [
        SetSpec(s.id, tuple(Stage(t.corruption, t.revision, t.severity, t.level, t.parameters) for t in s.stages), aliases=tuple(s.aliases))
        for s in manifest.sets
    ]
    tree = grow(sets, manifest.seed, manifest.coupling)
    preprocessing = parse_preprocessing(manifest.preprocessing)
    encoding = Encoding.from_json(manifest.encoding)
    picks = _picks(len(data.samples), count)
    records = {s.id: _records(data, s.id, picks) for s in sets}
    for done, index in enumerate(picks):
        progress("rederive", done, len(picks))
        sample = data.samples[index]
        clean = preprocess(source.load(found[index]).image, preprocessing)
        got = pixel_digest(clean)
        if got != sample.pixels:
            yield Problem(
                "samples.jsonl",
                "rederive",
                f"{sample.id}: the clean pixels come out as {got}, not {sample.pixels}: another release of Pillow decodes "
                "or resizes otherwise",
            )
            continue
        for set_id, images in walk(
            tree, check_images(clean[None]), sample_keys([sample.id]), side=side, scale=manifest.scale, resources=resources
        ):
            yield from _compare(set_id, sample, records[set_id][index], images[0], encoding)
    progress("rederive", len(picks), len(picks))


def _compare(set_id: str, sample: SampleRecord, record: ImageRecord, image: NDArray[np.uint8], encoding: Encoding) -> Iterator[Problem]:
    got = pixel_digest(image)
    if got != record.pixels:
        yield Problem(set_path(set_id), "rederive", f"{sample.id}: the pixels come out as {got}, not {record.pixels}")
        return
    encoded: str | None = None
    for stored in record.files:
        if stored.row is not None and encoding.format == "png":
            sha256 = sha256_bytes(np.ascontiguousarray(image).data)
        else:
            encoded = sha256 = encoded or sha256_bytes(encoding.encode(image))
        if sha256 != stored.sha256:
            where = stored.path if stored.row is None else f"{stored.path}#{stored.row}"
            yield Problem(where, "rederive", f"{sample.id}: the same pixels, encoded again, are {sha256}, not {stored.sha256}")


def _match(data: DataSet, source: Source) -> list[Sample]:
    """Return the source's samples of the data set, after holding the source to its digest."""
    by_id = {s.id: s for s in source.samples}
    problems: list[str] = []
    found: list[Sample] = []
    rows: list[tuple[str, int, str]] = []
    for record in data.samples:
        sample = by_id.get(record.id)
        if sample is None:
            problems.append(f"{record.id}: is not in the source")
            continue
        try:
            sha256 = source.fingerprint(sample)
        except BadSample as e:
            problems.append(f"{record.id}: {e}")
            continue
        if sha256 != record.sha256:
            problems.append(f"{record.id}: is {sha256}, expected {record.sha256}")
        if sample.label != record.label:
            problems.append(f"{record.id}: has label {sample.label}, expected {record.label}")
        found.append(sample)
        rows.append((sample.id, sample.label, sha256))
    if problems or source_digest(rows) != data.manifest.source.digest:
        problems = problems or [f"the digest of the selection is {source_digest(rows)}, expected {data.manifest.source.digest}"]
        raise SourceError(
            f"The source is not the one that {data.path} was made from:\n{listed(problems)}\nName the right one with --source."
        )
    return found


def _check_revisions(data: DataSet) -> None:
    problems = []
    for name, revision in data.manifest.revisions.items():
        if name not in corruption_names():
            problems.append(f"{name}: not known here, revision {revision} in the data set")
        elif get_corruption(name).revision != revision:
            problems.append(f"{name}: revision {get_corruption(name).revision} here, {revision} in the data set")
    if problems:
        raise VerificationError(
            f"{data.path} was made by other revisions of corruptions than are installed:\n{listed(problems)}\n"
            f"Install corruptset {data.manifest.environment.get('corruptset', '(the release that made it)')} to make samples again."
        )


def _check_textures(data: DataSet, frost_textures: str | Path | None) -> None:
    wanted = {t.sha256 for t in data.manifest.textures}
    if not wanted:
        return
    if frost_textures is not None:
        here = {sha256 for _, sha256 in load_textures(frost_textures).records()}
    else:
        sizes = {(s.height, s.width) for s in data.samples}
        spec = parse_preprocessing(data.manifest.preprocessing)
        shapes = sorted({spec.size(w, h) for h, w in sizes})
        here = {sha256 for w, h in shapes for _, sha256 in default_textures(h, w).records()}
    if wanted - here:
        raise VerificationError(
            f"{data.path} was made with other frost textures than these. Give the directory of textures that it was built with "
            "(frost_textures), or install the release of corruptset that made it."
        )


def _side(calibration: object) -> int:
    if calibration not in SHIPPED:
        raise VerificationError(f"The manifest names the calibration {calibration!r} without its reference side.")
    return shipped(str(calibration)).side


def _picks(total: int, count: int | None) -> list[int]:
    """Return the indices of `count` samples, spread evenly."""
    if count is None or count >= total:
        return list(range(total))
    return [(i * total) // count for i in range(count)]


def _records(data: DataSet, set_id: str, picks: list[int]) -> dict[int, ImageRecord]:
    wanted = set(picks)
    return {r.index: r for r in read_jsonl(data.path / set_path(set_id), ImageRecord) if r.index in wanted}
