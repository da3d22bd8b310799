"""Records, single images, shards and arrays of a data set, made again where they are wrong."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...manifests.disk.jsonl import read_jsonl
from ...manifests.layout import set_path, set_places
from ...manifests.records.models import ImageRecord, Manifest
from ...manifests.records.report import printable
from ..plan.parts import Part
from ..sinks.sink import Run, Sink
from ..work.sidecars import sidecars
from .agreement import library_advice
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


def _sinks(remake: Remake, *, single_files: bool) -> list[Sink]:
    return [sink for sink in remake.job.sinks if sink.single_files == single_files]


def _repair_single(
    files: RepairedFiles, remake: Remake, wanted: Mapping[int, set[str]], expected: Mapping[tuple[str, int], tuple[str, str]]
) -> None:
    """Make single images again; each takes its place as soon as its part is made, so that a repair that is stopped loses little."""

    def put(folder: Path, part: Part) -> None:
        for set_id in part.sets:
            for index in range(part.run.first, part.run.stop):
                path, sha256 = expected[set_id, index]
                files.put(path, folder / path, sha256, _encoders(files.manifest))

    shutil.rmtree(remake.make("images", _sinks(remake, single_files=True), _narrow_parts(remake, wanted), put))


def _narrow_parts(remake: Remake, wanted: Mapping[int, set[str]]) -> list[Part]:
    """Return parts of just these samples under just these sets: neighbours of the same sets together."""
    parts: list[Part] = []
    for index in sorted(wanted):
        sets = tuple(s for s in remake.spec.by_id if s in wanted[index])
        last = parts[-1] if parts else None
        if last is not None and last.sets == sets and last.run.stop == index and last.run.count < remake.build.runs[0].count:
            parts[-1] = Part(replace(last.run, stop=index + 1), sets)
        else:
            parts.append(Part(Run(len(parts), index, index + 1), sets))
    return parts


def _repair_shared(files: RepairedFiles, remake: Remake, wanted: Mapping[str, Sequence[tuple[str, int]]]) -> None:
    """Make shards of runs, and arrays of several sets, again."""
    sinks = _sinks(remake, single_files=False)
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
