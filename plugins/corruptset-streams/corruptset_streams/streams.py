"""`stream`: a changing stream of corrupted images, written as tars in order, resumed tar by tar, with its walk in stream.json."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from functools import cache
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

import corruptset
from corruptset.canonical import canonical_sha256
from corruptset.cli.options import Jobs, Labels, PerClass, Samples, Seed, SkipBad, Source, argument, option
from corruptset.corruptions.keys import hash64, sample_keys
from corruptset.corruptions.random.philox import uniforms
from corruptset.corruptions.stages import parse_chain
from corruptset.errors import BuildError, VerificationError, first_few
from corruptset.generate.commit.interruption import resumable
from corruptset.generate.commit.locks import clean_up, locked
from corruptset.generate.pixels.preprocessing import Unchanged
from corruptset.generate.plan.checked_build import CheckedBuild
from corruptset.generate.plan.job import Job
from corruptset.generate.plan.options import BuildOptions
from corruptset.generate.plan.recipe_build import prepare
from corruptset.generate.recipes.recipe import Recipe
from corruptset.generate.sources.check import check
from corruptset.generate.work.accepted import accepted_build
from corruptset.generate.work.environment import environment
from corruptset.generate.work.warm_up import warm_up
from corruptset.generate.work.worker import load_clean
from corruptset.manifests.checksums import parse_sha256sums
from corruptset.manifests.disk.atomic import replacing, write_atomic
from corruptset.manifests.disk.large import LargeFile
from corruptset.manifests.disk.remote import local_folder
from corruptset.manifests.records.digests import set_digest, sha256_bytes, sha256_file
from corruptset.pixels import pixel_digest
from corruptset.progress import shows_progress, told
from corruptset.workers import Workers

from .crops import cropped, draw_crop
from .walks import STREAM_VERSION, StreamTable, accuracies_of, load_stream, walk

KEYS = (
    "schema_version name version seed calibration scale preprocessing encoding stream source classes textures stages walk excluded "
    "selection accuracies"
).split()
"""Of stream.json: what is asked for."""
NAMED = ("schema_version", "seed", "preprocessing", "stages", "walk", "pixel_digest")
"""Of these, of its classes and samples is the digest of a stream."""


class Streamed(NamedTuple):
    """A finished stream."""

    directory: Path
    digest: str
    images: int
    """Of the stream."""
    made: int
    """Images made by this call; what was committed before is not counted."""
    steps: int
    tars: int
    bytes: int


class StreamJob(NamedTuple):
    """What a worker needs to know."""

    build: Job
    """Of the sets of one corruption: the stream has its directory, source, samples, seed and preprocessing."""
    recipe: Recipe
    table: StreamTable
    walk: list[str]
    """The set of each step."""

    def tars(self) -> list[Path]:
        """Return the tars; beside each lies, until the stream is finished, one with the suffix ``.part`` that tells of it."""
        return [self.build.directory / f"serial_{number:05d}.tar" for number in range(-(-self.table.length // self.table.tar))]


@shows_progress("stream")
def stream(
    recipe: Annotated[str, argument("RECIPE", "ccc-easy, ccc-medium, ccc-hard, or the recipe file (.toml) of a stream.")],
    source: Source = "sample",
    out: Annotated[Path, option("--out -o DIR", "The tars go to DIR/<recipe>-<version>/baseline_..._seed_....")] = Path("corruptset-out"),
    accuracies: Annotated[
        Path | None,
        option(
            "--accuracies FILE",
            "A reference model's accuracy of every set of the grid: the scores.json of score, or a CSV with columns set, accuracy.",
        ),
    ] = None,
    seed: Seed = 0,
    speed: Annotated[int | None, option("--speed N", "Images before the severities change; by default the recipe's.")] = None,
    length: Annotated[int | None, option("--length N", "Images of the whole stream; by default the recipe's.")] = None,
    jobs: Jobs = None,
    samples: Samples = None,
    per_class: PerClass = None,
    labels: Labels = None,
    skip_bad: SkipBad = False,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Streamed:
    """Write a stream of images whose corruptions change while the accuracy of a reference model stays near to a baseline.

    Two corruptions at a time, one after the other. The walk goes along the path of an ordered pair (`find_path`), so many images a
    step, then from the second corruption to a new one. Every visit to an image has a key of its own, ``<sample id>@<place>``, from which
    its crop, its flip and the draws of its corruptions follow. The same call resumes a stream that was stopped, and checks the files of
    one that is finished. `source` and the selection are as of `corruptset.build`, and so are errors; of files of a finished stream that
    are missing or changed it is a `VerificationError`.
    """
    local_folder(out, "streams are written to")
    chosen, table = load_stream(recipe, speed=speed, length=length)
    used = accuracies_of(table, accuracies)
    with resumable(Path(out)) as place:
        spec = prepare(
            chosen, source, BuildOptions(seed=seed, jobs=jobs, samples=samples, per_class=per_class, labels=labels, skip_bad=skip_bad)
        )
        name = f"baseline_{table.baseline:g}_transition+speed_{table.speed}_seed_{seed}"
        directory = place.directory = Path(out) / spec.folder / name
        with Workers(spec.workers) as workers:
            build = accepted_build(spec, check(spec.source, spec.selected, workers=workers, judge=spec.size_problem))
            names = list(islice(walk(table, used, seed), -(-table.length // table.speed)))
            job = StreamJob(build.job(directory, spec.asked), chosen, table, names)
            known = build.identity | {
                "schema_version": 1,
                "calibration": chosen.table().name,
                "preprocessing": build.identity["preprocessing"] | {"crops": table.crops},
                "encoding": chosen.encoding.as_json(["webdataset"]),
                "stream": table.model_dump(mode="json"),
                "textures": build.resources(spec.asked)["textures"],
                "stages": {name: [stage.as_json() for stage in parse_chain(name, chosen.table())] for name in sorted({*names})},
                "walk": [[name, at, min(table.speed, table.length - at)] for name, at in zip(names, count(0, table.speed), strict=False)],
                "accuracies": canonical_sha256(used),
            }
            record = json.loads(json.dumps({key: known[key] for key in KEYS}))
            made = 0
            with locked(directory):
                if not _begun(directory, record):
                    missing = [number for number, tar in enumerate(job.tars()) if not (tar.exists() and tar.with_suffix(".part").exists())]
                    warm_up(job.build, workers)
                    if workers.most > 1 and len(missing) > 1:
                        workers.start(len(missing))
                    for finished in [workers.later(make_tar, job, number) for number in missing]:
                        made += finished()
                        told(progress)("images", made, table.length)
                    _finish(job, build, record)
                for part in directory.glob("*.part"):  # of tars, and of workers that were killed while they wrote
                    part.unlink()
                clean_up(directory)
    manifest = json.loads((directory / "stream.json").read_bytes())
    tars = [file["bytes"] for file in manifest["files"]][:-1]
    return Streamed(directory, manifest["digest"], table.length, made, len(names), len(tars), sum(tars))


def _begun(directory: Path, record: dict[str, Any]) -> bool:
    """Write down which stream a directory holds, and refuse another one; return whether it is finished, with all its files."""
    begun, done = directory / ".corruptset/stream", directory / "stream.json"
    there = done if done.exists() else begun
    if not there.exists():
        write_atomic(begun, json.dumps(record).encode())
    present = json.loads(there.read_bytes())
    if differing := [key for key in KEYS if present.get(key) != record[key]]:
        raise BuildError(f"{directory} holds another stream: {', '.join(differing)} differ. Choose another --out.")
    if there == begun:
        return False
    sums = parse_sha256sums((directory / "SHA256SUMS").read_bytes())[0]
    if wrong := [path for path in sums if not (directory / path).is_file() or sha256_file(directory / path) != sums[path]]:
        raise VerificationError(f"{directory}: not as SHA256SUMS says are {first_few(wrong)}. Fetch them again, or choose another --out.")
    return True


def make_tar(job: StreamJob, number: int) -> int:
    """Make and commit a tar, and return how many images it has."""
    build, recipe, table, _ = job
    tar, seed, samples, spec = job.tars()[number], build.maker.seed, build.samples, build.preprocessing
    keys, digests = sample_keys(chosen.sample.id for chosen in samples), list[str]()

    @cache
    def order(*turn: int) -> Any:
        """Return the samples in the order of a step's turn: each image comes once, then each once again."""
        key = hash64(["stream", STREAM_VERSION, seed, "order", *turn])
        return np.argsort(uniforms(key, keys, np.uint32(0), 0.0, 1.0), kind="stable")

    with replacing(tar) as part, LargeFile(part) as file:
        archive = tarfile.TarFile(part, "w", fileobj=file, format=tarfile.GNU_FORMAT)  # type: ignore[arg-type]
        for place in range(table.length)[number * table.tar :][: table.tar]:
            step, at = divmod(place, table.speed)
            turn, at = divmod(at, len(samples))
            chosen = samples[order(step, turn)[at]]
            info = {"id": chosen.sample.id, "place": place, "step": step, "set": job.walk[step], "key": f"{chosen.sample.id}@{place}"}
            if table.crops == "random":
                image = load_clean(build.source, chosen, Unchanged(kind="none", channels="keep" if spec.channels == "keep" else "rgb"))
                size = image.shape[1], image.shape[0]
                info["crop"], info["flipped"] = draw_crop(*size, ["stream", STREAM_VERSION, seed, "crop", info["key"]])
                interpolation = getattr(spec, "interpolation", "bilinear")
                image = cropped(image, info["crop"], info["flipped"], spec.size(*size), interpolation)
            else:
                image = load_clean(build.source, chosen, spec)
            image = corruptset.corrupt(image, info["set"], calibration=recipe.table(), scale=recipe.scale, seed=seed, key=info["key"])
            digests.append(pixel_digest(image))
            members = {"info": json.dumps(info, ensure_ascii=False).encode(), "input.jpg": recipe.encoding.encode(image)}
            if chosen.sample.label is not None:
                members["output.cls"] = str(chosen.sample.label).encode()
            for ending, data in members.items():
                member = tarfile.TarInfo(f"sample_{place:08d}.{ending}")
                member.size, member.mode = len(data), 0o644
                archive.addfile(member, io.BytesIO(data))
        archive.close()
    record = {"path": tar.name, "bytes": file.written, "sha256": f"sha256:{file.sha256.hexdigest()}"}
    write_atomic(tar.with_suffix(".part"), json.dumps([record, digests]).encode())
    return len(digests)


def _finish(job: StreamJob, build: CheckedBuild, record: dict[str, Any]) -> None:
    """Write samples.jsonl, SHA256SUMS and stream.json."""
    tars = [json.loads(tar.with_suffix(".part").read_bytes()) for tar in job.tars()]
    rows = "".join(json.dumps({"id": i, "label": n, "sha256": s}, ensure_ascii=False) + "\n" for i, n, s in build.made_of).encode()
    files = [file for file, _ in tars] + [{"path": "samples.jsonl", "bytes": len(rows), "sha256": sha256_bytes(rows)}]
    record |= {"images": job.table.length, "pixel_digest": set_digest(digest for _, digests in tars for digest in digests)}
    classes = [[one.index, one.name, one.folder] for one in build.spec.classes]
    named = {key: record[key] for key in NAMED} | {"classes": classes, "samples": build.made_of, "count": job.table.length}
    record |= {"digest": canonical_sha256(named), "files": files, "environment": dict(environment())}
    lines = ",\n".join(f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in record.items())
    text = f"{{\n{lines}\n}}\n".encode()
    own = {"path": "stream.json", "bytes": len(text), "sha256": sha256_bytes(text)}
    sums = [f"{file['sha256'].removeprefix('sha256:')}  {file['path']}\n" for file in sorted([*files, own], key=itemgetter("path"))]
    for name, data in (("samples.jsonl", rows), ("SHA256SUMS", "".join(sums).encode()), ("stream.json", text)):
        write_atomic(job.build.directory / name, data)
