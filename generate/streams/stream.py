"""`stream`: a changing stream of corrupted images, written as tars in order, resumed tar by tar, with its walk in stream.json."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blake3 import blake3

from ...canonical import canonical_sha256
from ...corruptions.keys import check_seed, sample_keys
from ...corruptions.stages import apply_stage, chain_keys
from ...corruptions.weather.textures import default_textures
from ...errors import BuildError, MachineError, SourceError, first_few
from ...manifests.checksums import sha256sums_bytes
from ...manifests.disk.atomic import write_atomic
from ...manifests.disk.lock import refuse_without_locks
from ...manifests.disk.remote import local_folder
from ...manifests.layout import SAMPLES, SHA256SUMS, STREAM, STREAM_BEGUN, WORK_FOLDER
from ...manifests.records.digests import sha256_bytes, source_digest
from ...manifests.records.models import FileRecord
from ...manifests.verify.streams import stream_digest
from ...processes import workers_at_most
from ...progress import shows_progress, told
from ...workers import Workers
from ..commit.interruption import resumable
from ..commit.locks import clean_up, locked, wait_for_workers
from ..commit.place import refuse_place
from ..plan.job import CheckedSample
from ..plan.nesting import refuse_nested
from ..recipes.expectations import refusal
from ..sources.check import Checked, check
from ..sources.selection import select, selection_record
from ..sources.source import Source, open_source
from ..work.environment import environment
from .accuracies import grid_accuracies, read_accuracies
from .stream_parts import StreamJob, Tar, make_tar, read_sidecar
from .stream_recipe import StreamRecipe, cell_id, load_stream
from .walk import Step, walk

SCHEMA_VERSION = 1
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Streamed:
    """A finished stream."""

    directory: Path
    digest: str
    images: int
    """Of the stream."""
    made: int
    """Images made by this call; what was committed before is not counted."""
    steps: int
    tars: int
    manifest: Mapping[str, Any]
    """What stream.json holds."""


@shows_progress("stream")
def stream(
    recipe: str | Path | StreamRecipe,
    source: str | Source = "sample",
    out: str | Path = "corruptset-out",
    *,
    accuracies: str | Path | Mapping[str, float],
    seed: int = 0,
    speed: int | None = None,
    length: int | None = None,
    jobs: int | None = None,
    samples: int | None = None,
    per_class: int | None = None,
    labels: str | Path | None = None,
    skip_bad: bool = False,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Streamed:
    """Write a stream of images whose corruptions change while the accuracy of a reference model stays near to a baseline.

    Two corruptions at a time, one after the other. The walk goes along the path of an ordered pair (`find_path`), so many images a
    step, then from the second corruption to a new one. Every visit to an image has a key of its own, ``<sample id>@<place>``, from which
    its crop, its flip and the draws of its corruptions follow. The same call resumes a stream that was stopped.

    Parameters
    ----------
    recipe : str, path or StreamRecipe
        ``ccc-easy``, ``ccc-medium``, ``ccc-hard``, or a recipe file (.toml) with a table ``[stream]``.
    source : str or Source
        As of `build`.
    out : path
        The tars go to ``<out>/<name>-<version>/baseline_<b>_transition+speed_<v>_seed_<s>``.
    accuracies : path, or mapping of set id to float
        The reference model's accuracy (0..1) of every set of the recipe's grid: a scores file, or a CSV.
    seed : int
        0..2**53 - 1.
    speed, length : int, optional
        Images a step and of the whole stream, in place of the recipe's.
    jobs : int, optional
        Processes; by default one a core. The bytes do not depend on it.
    samples, per_class, labels, skip_bad
        As of `build`.
    progress : callable or bool, optional
        Called with the step, images made and the total. By default a bar is shown in a terminal and in a notebook; False shows none.

    Returns
    -------
    Streamed

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        What was asked for cannot be made, or differs from what the directory holds.
    MachineError, Interrupted
        The same call resumes.
    """
    local_folder(out, "streams are written to")
    tell = told(progress)
    with resumable(Path(out)) as place, Workers(workers_at_most(jobs or os.cpu_count() or 1)) as workers:
        chosen = _with(load_stream(recipe), speed=speed, length=length)
        check_seed(seed)
        given = accuracies if isinstance(accuracies, Mapping) else read_accuracies(accuracies)
        used = grid_accuracies(chosen, given)
        opened = open_source(source, labels=labels) if isinstance(source, str) else source
        table = chosen.stream
        name = f"baseline_{table.baseline:g}_transition+speed_{table.speed}_seed_{seed}"
        directory = place.directory = Path(out) / chosen.folder / name
        refuse_without_locks()
        refuse_nested(opened, directory)
        refuse_place(directory)
        selected = select(opened.samples, samples=samples, per_class=per_class, classes=opened.classes)
        checked = _checked(chosen, opened, selected, skip_bad, workers, tell)
        samples_of = tuple(CheckedSample(*entry) for entry in checked.good)
        steps = list(walk(chosen, used, seed))
        record = _record(chosen, opened, samples_of, steps, seed) | {
            "excluded": [{"path": path, "reason": reason} for path, reason in sorted([*opened.notes, *checked.bad])],
            "selection": selection_record(opened.samples, selected, samples=samples, per_class=per_class),
            "accuracies": canonical_sha256(used),
        }
        job = StreamJob(directory, chosen, opened, samples_of, steps, seed, canonical_sha256(record))
        with locked(directory):
            wait_for_workers(directory)
            return _made(job, record, workers, tell)


def _with(recipe: StreamRecipe, **changes: int | None) -> StreamRecipe:
    """Return a recipe with another speed or length."""
    given = {name: value for name, value in changes.items() if value is not None}
    wrong = [
        f"{name} is {value!r}; expected a whole number, at least 1" for name, value in given.items() if type(value) is not int or value < 1
    ]
    if wrong:
        raise BuildError(f"{'; '.join(wrong)}.")
    return recipe.model_copy(update={"stream": recipe.stream.model_copy(update=given)})


def _checked(recipe: StreamRecipe, source: Source, selected: Sequence[Any], skip_bad: bool, workers: Workers, tell: Tell) -> Checked:
    """Look at every image once, and refuse what a stream cannot be made of."""
    tell("checking", 0, len(selected))
    checked = check(source, selected, workers=workers, judge=recipe.preprocessing.problem)
    if not skip_bad or not checked.good:
        checked.raise_for_bad(source.notes)
    if not checked.good:
        raise BuildError(f"The source {source.scheme} has no images to make a stream of.")
    if recipe.expects is not None:
        shapes = [(sample.path or sample.id, (width, height, channels)) for sample, _, width, height, channels in checked.good]
        if problems := recipe.expects.problems(shapes):
            raise SourceError(f"{refusal(f'The stream {recipe.name}', recipe.expects, problems, '')} Nothing was written.")
    return checked


def _record(recipe: StreamRecipe, source: Source, samples: Sequence[CheckedSample], steps: Sequence[Step], seed: int) -> dict[str, Any]:
    """Return what a stream is, as its manifest has it, but for its pixels and files."""
    made_of = [(c.sample.id, c.sample.label, c.sha256) for c in samples]
    stages = {cell_id(step.cell): recipe.stages(step.cell) for step in steps}
    textures = []
    if "frost" in recipe.stream.corruptions:
        width, height = recipe.preprocessing.size(0, 0)
        textures = [{"name": name, "sha256": sha256} for name, sha256 in default_textures(height, width).records()]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": recipe.name,
        "version": recipe.version,
        "seed": seed,
        "calibration": recipe.table().name,
        "scale": recipe.scale,
        "preprocessing": recipe.preprocessing.as_json() | {"crops": recipe.stream.crops},
        "encoding": recipe.encoding.as_json(["webdataset"]),
        "stream": recipe.stream.model_dump(mode="json"),
        "source": {"name": source.scheme, "digest": source_digest(made_of), "license": source.license},
        "classes": [c.as_json() for c in source.classes],
        "textures": textures,
        "stages": {name: [stage.as_json() for stage in chain] for name, chain in sorted(stages.items())},
        "walk": [step.as_json() for step in steps],
    }


def _made(job: StreamJob, record: dict[str, Any], workers: Workers, tell: Tell) -> Streamed:
    """Make the tars that are missing, then the manifest; the lock is held."""
    directory, done = job.directory, job.directory / STREAM
    if done.exists():
        manifest = json.loads(done.read_bytes())
        differing = [key for key, value in record.items() if manifest.get(key) != json.loads(json.dumps(value))]
        if differing:
            raise BuildError(
                f"{directory} holds another stream: {', '.join(differing)} differ{'s' * (len(differing) == 1)}. Choose another --out."
            )
        clean_up(directory)
        return Streamed(directory, manifest["digest"], job.length, 0, len(job.steps), job.tars, manifest)
    _begin(job)
    for part in directory.glob(".*.part"):  # of workers that were killed while they wrote
        part.unlink()
    missing = [n for n in range(job.tars) if read_sidecar(job, n) is None]
    made = 0
    if missing:
        _compile(job, tell)
        total = job.length
        size = job.recipe.stream.tar
        before = total - sum(min(size, total - n * size) for n in missing)
        tell("images", before, total)

        def finished(images: int) -> None:
            nonlocal made
            made += images
            tell("images", before + made, total)

        _run(job, missing, workers, finished)
    return _finish(job, record, made)


def _begin(job: StreamJob) -> None:
    """Write down which stream a directory holds, and refuse one that holds something else."""
    begun = job.directory / STREAM_BEGUN
    if begun.exists():
        if begun.read_text() != job.identity:
            raise BuildError(f"{job.directory} holds another stream, which is not finished. Choose another --out, or remove it.")
        return
    there = sorted(p.name for p in job.directory.iterdir() if p.name != WORK_FOLDER)
    if there:
        raise BuildError(f"{job.directory} is not empty and holds no stream ({first_few(there)}). Choose another --out, or empty it.")
    write_atomic(begun, job.identity.encode())


def _compile(job: StreamJob, tell: Tell) -> None:
    """Make every corruption's kernels once, before workers make them side by side."""
    import numpy as np

    width, height = job.recipe.preprocessing.size(0, 0)
    grey = np.full((1, height, width, 3), 128, np.uint8)
    names = job.recipe.stream.corruptions
    for number, name in enumerate(names):
        tell("compiling", number, len(names))
        stages = job.recipe.stages((name, 1, name, 0))
        apply_stage(grey, stages[0], chain_keys(stages, job.seed)[0], sample_keys([""]), side=job.recipe.table().of(name).side)


def _run(job: StreamJob, missing: Sequence[int], workers: Workers, done: Callable[[int], None]) -> None:
    """Make tars, in this process or in workers."""
    if workers.most <= 1 or len(missing) <= 1:
        for number in missing:
            done(make_tar(job, number))
        return
    from concurrent.futures.process import BrokenProcessPool

    waiting: set[Future[int]] = set()
    queue = list(reversed(missing))
    try:
        count = workers.start(len(missing))
        while queue or waiting:
            while queue and len(waiting) < count:
                waiting.add(workers.submit(make_tar, job, queue.pop()))
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                done(future.result())
    except BrokenProcessPool:
        raise MachineError(
            "A worker was killed (often: out of memory). The tars that are finished stand: run the same command again, with fewer --jobs."
        ) from None
    except BaseException:
        workers.stop()  # before the lock is let go
        raise


def _finish(job: StreamJob, record: dict[str, Any], made: int) -> Streamed:
    """Write samples.jsonl, stream.json and SHA256SUMS, and leave nothing else."""
    directory = job.directory
    pixels, tars = blake3(), list[Tar]()
    for number in range(job.tars):
        tar = read_sidecar(job, number)
        if tar is None:
            raise MachineError(f"{job.tar(number)} has changed since it was written. Run the same command again to make it anew.")
        pixels.update(tar.pixels)
        tars.append(tar)
    made_of = [(c.sample.id, c.sample.label, c.sha256) for c in job.samples]
    rows = _lines(dict(zip(("id", "label", "sha256"), entry, strict=True)) for entry in made_of)
    files = [FileRecord(path=job.tar(n).name, bytes=t.size, sha256=t.sha256) for n, t in enumerate(tars)]
    files.append(FileRecord(path=SAMPLES, bytes=len(rows), sha256=sha256_bytes(rows)))
    pixel_digest = f"blake3:{pixels.hexdigest()}"
    record = {**record, "images": job.length, "pixel_digest": pixel_digest}
    digest = stream_digest(record, made_of)
    manifest = {
        **record,
        "digest": digest,
        "files": [f.as_json() for f in files],
        "environment": dict(environment()),
    }
    text = b"{\n" + b",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}".encode() for k, v in manifest.items()) + b"\n}\n"
    own = FileRecord(path=STREAM, bytes=len(text), sha256=sha256_bytes(text))
    write_atomic(directory / SAMPLES, rows)
    write_atomic(directory / SHA256SUMS, sha256sums_bytes([*files, own]))
    write_atomic(directory / STREAM, text)
    clean_up(directory)
    return Streamed(directory, digest, job.length, made, len(job.steps), job.tars, manifest)


def _lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)
