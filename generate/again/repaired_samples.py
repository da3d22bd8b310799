"""samples.jsonl made again, from what is left of it or from the selection that the manifest names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...errors import SourceError
from ...manifests.disk.jsonl import BadLine, json_line, scan_jsonl
from ...manifests.disk.listing import plain_file
from ...manifests.layout import SAMPLES
from ...manifests.records.digests import source_digest
from ...manifests.records.models import SampleRecord
from ...pixels import pixel_digest
from ..commit.finish import sample_record
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..plan.job import CheckedSample
from ..regions.region_source import RegionSource
from ..sources.source import BadSample, Sample
from .recorded_regions import selected_again
from .remake import Remake
from .repaired_files import RepairedFiles


def samples_text(files: RepairedFiles, remake: Remake) -> bytes | None:
    """Return samples.jsonl; None, with the reason in the outcome, where it cannot be known which samples it lists."""
    preprocessing = parse_preprocessing(files.manifest.preprocessing)
    selection = _selection(files, remake)
    if selection is None:
        return None
    rows: list[bytes] = []
    for index, (sample, sha256) in enumerate(selection):
        remake.progress("samples", index, len(selection))
        try:
            image = remake.source.load(sample).image
        except BadSample as e:
            raise SourceError(f"{sample.path or sample.id} cannot be read any more: {e}.") from e
        checked = CheckedSample(sample, sha256, image.shape[1], image.shape[0])
        record = sample_record(files.manifest.classes, index, checked, pixel_digest(preprocess(image, preprocessing)))
        rows.append(json_line(record))
    return b"".join(rows)


def _selection(files: RepairedFiles, remake: Remake) -> list[tuple[Sample, str]] | None:
    """Return the samples of the data set and their hashes: the first candidates that have the recorded digest."""
    for candidate in _candidates(files, remake):
        if any(s.label is not None and s.label >= len(files.manifest.classes) for s in candidate):
            continue
        try:
            hashes = [remake.source.fingerprint(s) for s in candidate]
        except BadSample:
            continue
        if source_digest([(s.id, s.label, h) for s, h in zip(candidate, hashes, strict=True)]) == files.manifest.source.digest:
            return list(zip(candidate, hashes, strict=True))
    reason = (
        "which samples of the source it lists is not known: it was a list of ids, their groups are not known (--groups), "
        "or the source is another one; fetch it again"
    )
    files.outcome.leave(SAMPLES, reason)
    return None


def _candidates(files: RepairedFiles, remake: Remake) -> Iterator[list[Sample]]:
    """Yield the samples that are left of samples.jsonl, and those that the manifest's selection chooses."""
    by_id = {s.id: s for s in remake.source.samples}
    if plain_file(files.root, SAMPLES):
        rows = list(scan_jsonl(files.root / SAMPLES, SampleRecord))
        ids = [r.id for r in rows if not isinstance(r, BadLine)]
        if len(ids) == len(rows) and all(i in by_id for i in ids):
            recorded = {r.id: r.group for r in rows if not isinstance(r, BadLine)}
            yield [replace(by_id[i], group=by_id[i].group or recorded[i]) for i in ids]
    if isinstance(remake.source, RegionSource):
        yield list(remake.source.samples)  # the selection was made over the images
    else:
        yield selected_again(files.manifest, remake.source)
