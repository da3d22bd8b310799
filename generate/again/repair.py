"""`verify --repair`: what is wrong or missing is made again, file by file; what is right is not touched.

Everything is made aside, in `.corruptset/repair`, and takes the place of what is wrong only where its bytes are those that the records
list. manifest.json is never rewritten: it is what all else is held against. Files that no record names are left for their owner.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ...errors import SourceError, VerificationError
from ...manifests.checksums import SUMS_CAP, sha256sums_bytes
from ...manifests.disk.atomic import fsync_folder
from ...manifests.disk.jsonl import BadLine, json_line, read_jsonl, scan_jsonl
from ...manifests.disk.listing import plain_file, printable
from ...manifests.layout import MANIFEST, PARTS_FOLDER, SAMPLES, SHA256SUMS, WORK_FOLDER, set_path, set_places
from ...manifests.partial import PARTIAL, load_partial, may_be_absent
from ...manifests.reader import DataSet
from ...manifests.records.digests import sha256_bytes, sha256_file, source_digest
from ...manifests.records.models import FileRecord, ImageRecord, Manifest, SampleRecord
from ...manifests.records.parsing import manifest_or_mistakes, other_schema
from ...manifests.records.report import Problem, VerificationReport
from ...manifests.verify.ladder import verify_directory
from ...manifests.verify.rules import manifest_problems, manifest_witness, sample_problems
from ...pixels import pixel_digest
from ..build import job_of
from ..commit.data_card import LICENSE, data_card, license_text
from ..commit.finish import CONTACT, README, contact_of, sample_record
from ..commit.interruption import resumable
from ..commit.state import extended, locked
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..plan.job import CheckedSample, Job
from ..plan.parts import Part, Run, groups, runs
from ..sinks.shards import shard_path
from ..sources.selection import select
from ..sources.source import BadSample, Sample, Source
from ..work.pool import run
from ..work.sidecars import sidecars
from ..work.worker import PartDone
from .from_manifest import Recorded, library_advice, matched, opened_source, recorded

SCRATCH = f"{WORK_FOLDER}/repair"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Means:
    """What is needed to make samples again; the options of `verify`."""

    source: str | Source | None = None
    labels: str | Path | None = None
    images: str | None = None
    frost_textures: str | Path | None = None
    jobs: int = 1


@dataclass
class Repaired:
    """What a repair did."""

    mended: list[str] = field(default_factory=list)
    left: list[Problem] = field(default_factory=list)
    """What it could not do, each with the reason."""


def repair(directory: str | Path, before: VerificationReport, means: Means, progress: Progress) -> Repaired:
    """Make again what a verification found wrong or missing.

    Parameters
    ----------
    directory : path
    before : VerificationReport
        What is wrong, as `verify_directory` says it at its highest level.
    means : Means
    progress : callable
        Called with the step, what is done and the total.

    Returns
    -------
    Repaired

    Raises
    ------
    SourceError
        Images have to be made again, and the source is missing, cannot be read, or is another one.
    VerificationError
        Images have to be made again, and corruptions or textures have other revisions here.
    BuildError
        A build, or another repair, works in this directory.
    MachineError, Interrupted
        What was mended stands; the same call goes on.
    """
    root = Path(directory)
    done = Repaired()
    manifest = _trusted(root, done)
    if manifest is None:
        return done
    absent = _absent(root, manifest, done)
    if absent is None:
        return done
    if (root / WORK_FOLDER).is_symlink():
        done.left.append(Problem(WORK_FOLDER, "unmended", "is a link; take it away and repair again"))
        return done
    if (root / WORK_FOLDER).exists() and extended(root) is None:
        done.mended.append(WORK_FOLDER)  # what a build or a repair left that was killed: it goes with the lock
    with resumable(root), locked(root):
        shutil.rmtree(root / SCRATCH, ignore_errors=True)
        _Repair(root, manifest, means, progress, done, absent).all(before)
    return done


def _absent(root: Path, manifest: Manifest, done: Repaired) -> frozenset[str] | None:
    """Return the files that are in archives which were not unpacked, and so are not to be made; None where nobody knows."""
    try:
        partial = load_partial(root)
    except (VerificationError, OSError):
        partial, known = None, False
    else:
        known = partial is None or (partial.digest, partial.manifest) == (manifest.digest, sha256_file(root / MANIFEST))
    if not known:
        reason = "it does not say what of this data set is here, so nothing is made; unpack the archives again, or take it away"
        done.left.append(Problem(PARTIAL, "unmended", reason))
        return None
    files = frozenset() if partial is None else may_be_absent(manifest, partial.sets)
    return frozenset(path for path in files if not os.path.lexists(root / path))


def _trusted(root: Path, done: Repaired) -> Manifest | None:
    """Return the manifest if it can be what all else is held against; else say why not."""

    def refuse(reason: str) -> None:
        done.left.append(Problem(MANIFEST, "unmended", f"{reason}; nothing is made again from it: fetch it again"))

    if not plain_file(root, MANIFEST):
        refuse("it is missing, or not a plain file")
        return None
    data = (root / MANIFEST).read_bytes()
    manifest, _ = manifest_or_mistakes(data)
    if manifest is None and (other := other_schema(data)) is not None:
        done.left.append(Problem(MANIFEST, "unmended", other))
        return None
    if manifest is None:
        refuse("it does not follow the schema")
        return None
    if any(True for _ in manifest_problems(manifest)):
        refuse("its fields contradict each other")
        return None
    witness = manifest_witness(sha256_bytes(data), _sums(root))
    listed = {f.path: f.sha256 for f in manifest.files}
    sound = plain_file(root, SAMPLES) and sha256_file(root / SAMPLES) == listed[SAMPLES]
    if sound and any(True for _ in sample_problems(manifest, list(read_jsonl(root / SAMPLES, SampleRecord)))):
        refuse("its fields contradict the samples")
        return None
    if witness == "contradicts":
        if not sound:
            refuse("it is not the one that SHA256SUMS names, and samples.jsonl, which could speak for it, is not whole")
            return None
        done.left.append(
            Problem(
                MANIFEST,
                "unmended",
                "it is not the one that SHA256SUMS names: one of the two was changed, and nothing says which; fetch both again",
            )
        )
    return manifest


def _sums(root: Path) -> bytes | None:
    if not plain_file(root, SHA256SUMS) or (root / SHA256SUMS).stat().st_size > SUMS_CAP:
        return None
    return (root / SHA256SUMS).read_bytes()


class _Repair:
    """One repair; the lock is held."""

    def __init__(self, root: Path, manifest: Manifest, means: Means, progress: Progress, done: Repaired, absent: Collection[str]) -> None:
        self.root = root
        self.manifest = manifest
        self.means = means
        self.progress = progress
        self.done = done
        self.absent = absent
        self.files = {f.path: f.sha256 for f in manifest.files}
        # of its own, so that a worker which a killed repair left writes somewhere else
        self.scratch = root / SCRATCH / secrets.token_hex(4)

    def all(self, before: VerificationReport) -> None:
        """Mend from the ground up: samples, rows, images and shards, texts, checksums."""
        report = before
        rows = [s.id for s in self.manifest.sets if not self._whole_or_absent(set_path(s.id))]
        # Before anything else: all that follows names samples by these records.
        if not self._sound(SAMPLES) and not self._samples():
            self._checksums()
            return
        if rows:
            self._rows(rows)
        if {SAMPLES, *map(set_path, rows)} & set(self.done.mended):
            report = verify_directory(self.root, jobs=self.means.jobs, progress=self.progress)
        self._stored({p.path for p in report.problems})
        self._texts()
        self._checksums()

    # -- what stands in the way, and what takes its place

    def _sound(self, path: str) -> bool:
        return plain_file(self.root, path) and sha256_file(self.root / path) == self.files[path]

    def _whole_or_absent(self, path: str) -> bool:
        return path in self.absent or self._sound(path)

    def _leave(self, path: str, reason: str) -> None:
        self.done.left.append(Problem(printable(path), "unmended", reason))

    def _put(self, path: str, made: Path, expected: str, advice: str) -> None:
        """Put a file that was made aside in its place, if its bytes are the recorded ones."""
        if not made.exists() or (found := sha256_file(made)) != expected:
            what = f"as {found}, recorded is {expected}" if made.exists() else "nowhere"
            return self._leave(path, f"made again, it comes out {what}. {advice}")
        target = self.root / path
        try:
            if (problem := _in_the_way(self.root, path)) is not None:
                return self._leave(path, problem)
            target.parent.mkdir(parents=True, exist_ok=True)
            with made.open("rb") as f:
                os.fsync(f.fileno())
            os.replace(made, target)
            fsync_folder(target.parent)
        except (IsADirectoryError, NotADirectoryError, FileExistsError):
            return self._leave(path, "something that is no file stands in its place; take it away and repair again")
        self.done.mended.append(path)
        return None

    def _put_bytes(self, path: str, data: bytes, advice: str) -> None:
        aside = self.scratch / "text"
        aside.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        self._put(path, aside, self.files.get(path, sha256_bytes(data)), advice)

    # -- the source, opened and held against its digest when it is first needed

    @cached_property
    def data(self) -> DataSet:
        return DataSet(self.root)

    @cached_property
    def source(self) -> Source:
        return opened_source(self.data, self.means.source, self.means.labels, self.means.images)

    @cached_property
    def prepared(self) -> Recorded:
        matched(self.data, self.source)
        return recorded(
            self.manifest,
            self.data.samples,
            self.root,
            self.source,
            sets=[s.id for s in self.manifest.sets],
            jobs=self.means.jobs,
            frost_textures=self.means.frost_textures,
        )

    @cached_property
    def job(self) -> Job:
        chosen = tuple(
            CheckedSample(sample, record.sha256, record.width, record.height)
            for sample, record in zip(self.prepared.selected, self.data.samples, strict=True)
        )
        made = job_of(self.prepared, self.root, chosen, [s.id for s in self.manifest.sets])
        return replace(made, measured=frozenset())

    @cached_property
    def runs(self) -> list[Run]:
        size = self.prepared.recipe.preprocessing.size
        return runs(len(self.data.samples), max(h * w for w, h in (size(s.width, s.height) for s in self.data.samples)) * 3)

    def _make(self, name: str, containers: tuple[str, ...], parts: Sequence[Part], made: Callable[[Path, Part], None]) -> Path:
        """Make parts aside; return the folder that they are in. `made` is told of each as it is finished."""
        folder = self.scratch / name
        (folder / PARTS_FOLDER).mkdir(parents=True)
        by_name = {part.name: part for part in parts}
        finished = 0

        def done(record: PartDone) -> None:
            nonlocal finished
            finished += 1
            made(folder, by_name[record.name])
            self.progress("repair", finished, len(parts))

        job = replace(self.job, directory=folder, containers=containers, token=f"{self.job.token}-{name}")
        run(job, parts, jobs=self.means.jobs, done=done)
        return folder

    def _parts(self, sets: Sequence[str], some: Collection[Run]) -> list[Part]:
        """Return whole sets over runs, in groups that fit into memory."""
        cut = groups(sets, run_count=len(self.runs), run_length=self.runs[0].count, stored_bytes=self.prepared.stored_bytes())
        return [Part(one, group) for one in some for group in cut]

    @property
    def _encoders(self) -> str:
        return library_advice(self.manifest, "opencv-python-headless", "pillow")

    # -- samples.jsonl

    def _samples(self) -> bool:
        """Make samples.jsonl again; return whether it stands."""
        rows: list[bytes] = []
        preprocessing = parse_preprocessing(self.manifest.preprocessing)
        chosen = self._selection()
        if chosen is None:
            return False
        for index, (sample, sha256) in enumerate(chosen):
            self.progress("samples", index, len(chosen))
            try:
                image = self.source.load(sample).image
            except BadSample as e:
                raise SourceError(f"{sample.path or sample.id} cannot be read any more: {e}.") from e
            entry = CheckedSample(sample, sha256, image.shape[1], image.shape[0])
            rows.append(json_line(sample_record(self.manifest.classes, index, entry, pixel_digest(preprocess(image, preprocessing)))))
        self._put_bytes(SAMPLES, b"".join(rows), library_advice(self.manifest, "pillow"))
        return SAMPLES in self.done.mended

    def _selection(self) -> list[tuple[Sample, str]] | None:
        """Return the samples of the data set and their hashes: as what is left of samples.jsonl says, or chosen as the manifest says."""
        for candidate in self._candidates():
            if any(s.label >= len(self.manifest.classes) for s in candidate):
                continue
            try:
                hashes = [self.source.fingerprint(s) for s in candidate]
            except BadSample:
                continue
            if source_digest([(s.id, s.label, h) for s, h in zip(candidate, hashes, strict=True)]) == self.manifest.source.digest:
                return list(zip(candidate, hashes, strict=True))
        self._leave(
            SAMPLES,
            "which samples of the source it lists cannot be found out again: it was a list of ids, or the source is another one; fetch it "
            "again",
        )
        return None

    def _candidates(self) -> Iterator[list[Sample]]:
        by_id = {s.id: s for s in self.source.samples}
        if plain_file(self.root, SAMPLES):
            rows = list(scan_jsonl(self.root / SAMPLES, SampleRecord))
            ids = [r.id for r in rows if not isinstance(r, BadLine)]
            if len(ids) == len(rows) and all(i in by_id for i in ids):
                yield [by_id[i] for i in ids]
        selection = self.manifest.selection
        if selection.get("ids") is None:
            excluded = {e.path for e in self.manifest.excluded}
            asked = {key: selection.get(key) for key in ("samples", "first", "per_class")}
            yield [s for s in select(self.source.samples, **asked) if (s.path or s.id) not in excluded]

    # -- sets/*.jsonl

    def _rows(self, sets: Sequence[str]) -> None:
        """Make whole sets again for their rows."""
        folder = self._make("rows", self.prepared.containers, self._parts(sets, self.runs), lambda folder, part: None)
        made = {(s, one.run): entry.lines for _, one in sidecars(folder) if one is not None for s, entry in one.sets.items()}
        for set_id in sets:
            lines = [made[set_id, one.number] for one in self.runs]
            self._put_bytes(set_path(set_id), b"".join(lines), self._encoders)
        shutil.rmtree(folder)

    # -- images, shards, arrays

    def _stored(self, wrong: Collection[str]) -> None:
        """Make again the images and shards among the paths of problems."""
        files = {path.partition("#")[0] for path in wrong} | set(wrong)
        single: dict[int, set[str]] = defaultdict(set)
        expected: dict[tuple[str, int], tuple[str, str]] = {}
        shards: dict[str, list[tuple[str, int]]] = defaultdict(list)
        places = set_places(self.manifest)
        for record in self.manifest.sets:
            if not self._sound(set_path(record.id)):
                continue
            folder = f"{places[record.id][0]}/"
            for row in read_jsonl(self.root / set_path(record.id), ImageRecord):
                for stored in row.files:
                    if printable(stored.path) not in files:
                        continue
                    if stored.row is None and stored.path.startswith(folder):
                        single[row.index].add(record.id)
                        expected[record.id, row.index] = stored.path, stored.sha256
                    elif stored.row is not None and stored.path in self.files:
                        shards[stored.path].append((record.id, row.index))
        if single:
            self._single(single, expected)
        if shards:
            self._whole(shards)

    def _single(self, wanted: Mapping[int, set[str]], expected: Mapping[tuple[str, int], tuple[str, str]]) -> None:
        """Make single images again, each put in its place as soon as its part is made: a repair that is stopped loses little."""

        def put(folder: Path, part: Part) -> None:
            for set_id in part.sets:
                for index in range(part.run.first, part.run.stop):
                    path, sha256 = expected[set_id, index]
                    self._put(path, folder / path, sha256, self._encoders)

        container = "view" if self.prepared.containers == ("view",) else "folder"
        shutil.rmtree(self._make("images", (container,), self._narrow(wanted), put))

    def _narrow(self, wanted: Mapping[int, set[str]]) -> list[Part]:
        """Return parts of just these samples under just these sets: neighbours of the same sets together."""
        most = self.runs[0].count
        found: list[Part] = []
        for index in sorted(wanted):
            sets = tuple(s for s in self.prepared.by_id if s in wanted[index])
            last = found[-1] if found else None
            if last is not None and last.sets == sets and last.run.stop == index and last.run.count < most:
                found[-1] = Part(replace(last.run, stop=index + 1), sets)
            else:
                found.append(Part(Run(len(found), index, index + 1), sets))
        return found

    def _whole(self, wanted: Mapping[str, Sequence[tuple[str, int]]]) -> None:
        """Make shards of runs, and arrays of several sets, again."""
        parts: dict[tuple[int, tuple[str, ...]], Part] = {}
        layout = self.job.layout
        for path, entries in wanted.items():
            sets = list(dict.fromkeys(set_id for set_id, _ in entries))
            indices = {index for _, index in entries}
            if layout is not None and layout.array_rows:
                sets = [set_id for set_id, paths in layout.set_paths().items() if path in paths]
                indices = set(range(len(self.data.samples)))
            some = [one for one in self.runs if not indices.isdisjoint(range(one.first, one.stop))]
            for part in self._parts(sets, some):
                parts[part.run.number, part.sets] = part

        def put(folder: Path, part: Part) -> None:
            # an array is whole when the last part is made
            for path in {shard_path(s, part.run.number) for s in part.sets} & wanted.keys() if layout is None else ():
                self._put(path, folder / path, self.files[path], self._encoders)

        folder = self._make("shards", ("view",) if layout is not None else ("hdf5",), [parts[key] for key in sorted(parts)], put)
        for path in sorted(wanted) if layout is not None else ():
            self._put(path, folder / path, self.files[path], self._encoders)
        shutil.rmtree(folder)

    # -- texts

    def _texts(self) -> None:
        """Make again what follows from the records."""
        makers: dict[str, Callable[[], bytes]] = {
            README: lambda: data_card(self.manifest, len(self.data.samples)).encode(),
            LICENSE: lambda: license_text(self.manifest.source).encode(),
            CONTACT: lambda: contact_of(self.job, sorted(s.id for s in self.manifest.sets)),
        }
        for path, make in makers.items():
            if path in self.files and not self._whole_or_absent(path):
                self._put_bytes(path, make(), library_advice(self.manifest, "pillow", "corruptset"))
        covered = {*makers, SAMPLES, *(set_path(s.id) for s in self.manifest.sets)}
        others = [p for p in self.files if p not in covered and not p.startswith("hdf5/") and not self._whole_or_absent(p)]
        if not others:
            return
        layout = self.job.layout
        texts = dict(layout.texts(self.files)) if layout is not None else {}
        arrays = set(layout.array_rows) if layout is not None else set()
        for path in others:
            if path in texts:
                self._put_bytes(path, texts[path], library_advice(self.manifest, "corruptset"))
            elif path not in arrays:
                self._leave(path, "nothing says how it is made; fetch it again")

    def _checksums(self) -> None:
        """Write SHA256SUMS again, unless it is the only witness against the manifest."""
        data = (self.root / MANIFEST).read_bytes()
        own = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
        right, there = sha256sums_bytes([*self.manifest.files, own]), _sums(self.root)
        if there != right and manifest_witness(own.sha256, there) != "contradicts":
            self._put_bytes(SHA256SUMS, right, "")


def _in_the_way(root: Path, path: str) -> str | None:
    """Return why a file cannot be put at a path: a link or a file stands where a folder should."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        try:
            mode = os.lstat(root / above).st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(mode):
            return f"{printable(above)} is {'a link' if stat.S_ISLNK(mode) else 'no folder'}; take it away and repair again"
    return None
