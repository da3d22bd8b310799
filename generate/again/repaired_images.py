"""Samples, rows, single images, shards and arrays of a data set, made again where they are wrong."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import SourceError
from ...manifests.disk.jsonl import BadLine, json_line, read_jsonl, scan_jsonl
from ...manifests.disk.listing import plain_file
from ...manifests.layout import SAMPLES, set_path, set_places
from ...manifests.records.digests import source_digest
from ...manifests.records.models import ImageRecord, Manifest, SampleRecord
from ...manifests.records.report import printable
from ...pixels import pixel_digest
from ..commit.finish import sample_record
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..plan.job import CheckedSample
from ..plan.parts import Part
from ..regions.region_source import RegionSource
from ..sinks.sink import Run
from ..sources.source import BadSample, Sample
from ..work.sidecars import sidecars
from .agreement import library_advice
from .from_manifest import selected_again
from .remake import Remake
from .repaired_files import RepairedFiles


def repair_rows(files: RepairedFiles, remake: Remake, sets: Sequence[str]) -> None:
    """Make the records (sets/*.jsonl) of sets again: whole sets are made for their rows."""
    folder = remake.make("rows", remake.job.sinks, remake.parts(sets, remake.build.runs), lambda folder, part: None)
    lines = {(s, one.run): entry.lines for _, one in sidecars(folder) if one is not None for s, entry in one.sets.items()}
    for set_id in sets:
        text = b"".join(lines[set_id, run.number] for run in remake.build.runs)
        files.put_bytes(set_path(set_id), text, _encoders(files.manifest))
    shutil.rmtree(folder)


def repair_images(files: RepairedFiles, remake: Remake, wrong: Collection[str]) -> None:
    """Make again the images, shards and arrays among the paths of problems."""
    paths = {path.partition("#")[0] for path in wrong} | set(wrong)
    single: dict[int, set[str]] = defaultdict(set)
    expected: dict[tuple[str, int], tuple[str, str]] = {}
    shared: dict[str, list[tuple[str, int]]] = defaultdict(list)
    places = set_places(files.manifest)
    for record in files.manifest.sets:
        if not files.sound(set_path(record.id)):
            continue
        folder = f"{places[record.id][0]}/"
        for row in read_jsonl(files.root / set_path(record.id), ImageRecord):
            for stored in row.files:
                if printable(stored.path) not in paths:
                    continue
                if stored.row is None and stored.path.startswith(folder):
                    single[row.index].add(record.id)
                    expected[record.id, row.index] = stored.path, stored.sha256
                elif stored.row is not None and stored.path in files.sha256s:
                    shared[stored.path].append((record.id, row.index))
    if single:
        _repair_single(files, remake, single, expected)
    if shared:
        _repair_shared(files, remake, shared)


def _encoders(manifest: Manifest) -> str:
    return library_advice(manifest, "opencv-python-headless", "pillow")


def _repair_single(
    files: RepairedFiles, remake: Remake, wanted: Mapping[int, set[str]], expected: Mapping[tuple[str, int], tuple[str, str]]
) -> None:
    """Make single images again; each takes its place as soon as its part is made, so that a repair that is stopped loses little."""

    def put(folder: Path, part: Part) -> None:
        for set_id in part.sets:
            for index in range(part.run.first, part.run.stop):
                path, sha256 = expected[set_id, index]
                files.put(path, folder / path, sha256, _encoders(files.manifest))

    shutil.rmtree(remake.make("images", [sink for sink in remake.job.sinks if sink.kind == "files"], _narrow_parts(remake, wanted), put))


def _narrow_parts(remake: Remake, wanted: Mapping[int, set[str]]) -> list[Part]:
    """Return parts of just these samples under just these sets: neighbours of the same sets together."""
    parts: list[Part] = []
    for index in sorted(wanted):
        sets = tuple(s for s in remake.build.by_id if s in wanted[index])
        last = parts[-1] if parts else None
        if last is not None and last.sets == sets and last.run.stop == index and last.run.count < remake.build.runs[0].count:
            parts[-1] = Part(replace(last.run, stop=index + 1), sets)
        else:
            parts.append(Part(Run(len(parts), index, index + 1), sets))
    return parts


def _repair_shared(files: RepairedFiles, remake: Remake, wanted: Mapping[str, Sequence[tuple[str, int]]]) -> None:
    """Make shards of runs, and arrays of several sets, again."""
    sinks = [sink for sink in remake.job.sinks if sink.kind != "files"]
    parts: dict[tuple[int, tuple[str, ...]], Part] = {}
    for path, images in wanted.items():
        for sink in sinks:
            sets, indices = sink.span(path, list(dict.fromkeys(set_id for set_id, _ in images)), {index for _, index in images})
            runs = [run for run in remake.build.runs if indices is None or not indices.isdisjoint(range(run.first, run.stop))]
            parts |= {(part.run.number, part.sets): part for part in remake.parts(sets, runs)}
    whole = {path for sink in sinks for path in sink.shared_files()}

    def put(folder: Path, part: Part) -> None:
        shards = {path for sink in sinks for set_id in part.sets if (path := sink.shard(set_id, part.run)) is not None}
        for path in shards & wanted.keys():  # an array is whole only when the last part is made
            files.put(path, folder / path, files.sha256s[path], _encoders(files.manifest))

    folder = remake.make("shards", sinks, [parts[key] for key in sorted(parts)], put)
    for path in sorted(wanted.keys() & whole):
        files.put(path, folder / path, files.sha256s[path], _encoders(files.manifest))
    shutil.rmtree(folder)


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
