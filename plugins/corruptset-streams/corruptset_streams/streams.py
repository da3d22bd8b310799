"""`stream`: a changing stream of corrupted images, written as tars in order, resumed tar by tar, with its walk in
stream.json.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import corruptset
from corruptset.canonical import canonical_sha256
from corruptset.corruptions.keys import Keys, hash64, sample_keys
from corruptset.corruptions.stages import parse_chain
from corruptset.errors import BuildError, VerificationError, first_few
from corruptset.generate.commit import interruption, locks
from corruptset.generate.commit.last_files import LastFiles
from corruptset.generate.pixels.preprocessing import Unchanged
from corruptset.generate.plan.builds import Build
from corruptset.generate.plan.final_samples import with_samples
from corruptset.generate.plan.job import load_clean
from corruptset.generate.plan.options import BuildOptions
from corruptset.generate.plan.recipe_build import prepare
from corruptset.generate.recipes.recipe import Recipe
from corruptset.generate.sources.check import check
from corruptset.generate.views.writer import tar_pieces
from corruptset.generate.work import environment, warm_up
from corruptset.manifests.checksums import parse_sha256sums, sha256sums_bytes
from corruptset.manifests.disk import atomic, remote
from corruptset.manifests.disk.atomic import write_large
from corruptset.manifests.records import digests, models
from corruptset.pixels import pixel_digest
from corruptset.progress import progress_function, shows_progress
from corruptset.workers import Workers

from .command import STREAM
from .crops import cropped, draw_crop
from .walks import STREAM_VERSION, StreamTable, accuracies_of, load_stream, walk

KEYS = (
    "schema_version name version seed calibration scale preprocessing encoding stream source classes textures stages "
    "walk excluded selection accuracies"
).split()
"""Of stream.json: what is asked for."""
BEGUN = ".corruptset/stream"
"""Where that stands while a stream is unfinished; beside each of its tars then lies one with the suffix ``.part`` that
tells of it.
"""
NAMED = "schema_version seed preprocessing stages walk pixel_digest".split()
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


@shows_progress("stream")
def stream(
    recipe: str | Path,
    source: str = "sample",
    out: str | Path = "corruptset-out",
    accuracies: str | Path | None = None,
    speed: int | None = None,
    length: int | None = None,
    progress: Callable[[str, int, int], None] | bool | None = None,
    **options: Any,
) -> Streamed:
    """Write a stream of images whose corruptions change while the accuracy of a reference model stays near to a
    baseline.

    Two corruptions at a time, one after the other. The walk goes along the path of an ordered pair (`find_path`), so
    many images a step, then from the second corruption to a new one. Every visit to an image has a key of its own,
    ``<sample id>@<place>``, from which its crop, its flip and the draws of its corruptions follow. The same call
    resumes a stream that was stopped, and checks the files of one that is finished. `source` and `options` (seed, jobs,
    samples, per_class, labels, skip_bad) are as of `corruptset.build`, and so are errors; of files of a finished stream
    that are missing or changed it is a `VerificationError`.
    """
    if wrong := sorted(options.keys() - STREAM.keys()):
        raise TypeError(f"stream() takes no {first_few(wrong)}")
    remote.local_folder(out, "streams are written to")
    settings, table = load_stream(recipe, speed=speed, length=length)
    used = accuracies_of(table, accuracies)
    with interruption.resumable(Path(out)) as place:
        spec = prepare(settings, source, BuildOptions(**options))
        seed = spec.maker.seed
        name = f"baseline_{table.baseline:g}_transition+speed_{table.speed}_seed_{seed}"
        directory = place.directory = Path(out, spec.folder, name)
        with Workers(spec.workers) as workers:
            found = check(spec.source, spec.selected, workers=workers, judge=spec.size_problem)
            build = with_samples(spec, found)
            places = range(table.length)
            steps = places[:: table.speed]
            sets = list(islice(walk(table, used, seed), len(steps)))
            known = {
                **build.identity,
                "schema_version": 1,
                "calibration": settings.table().name,
                "preprocessing": build.identity["preprocessing"] | {"crops": table.crops},
                "encoding": settings.encoding.as_json(["webdataset"]),
                "stream": table.model_dump(mode="json"),
                "textures": build.resources(spec.asked)["textures"],
                "stages": {
                    one: [stage.as_json() for stage in parse_chain(one, settings.table())] for one in sorted({*sets})
                },
                "walk": [[one, at, min(table.speed, table.length - at)] for one, at in zip(sets, steps, strict=True)],
                "accuracies": canonical_sha256(used),
            }
            record = json.loads(json.dumps({key: known[key] for key in KEYS}))
            digest = _finished(directory, record)
            tars = {
                directory / f"serial_{at // table.tar:05d}.tar": places[at : at + table.tar]
                for at in places[:: table.tar]
            }
            made = 0
            with locks.locked(directory):
                if digest is None:
                    atomic.write_atomic(directory / BEGUN, json.dumps(record).encode())
                    missing = [tar for tar in tars if not (tar.exists() and tar.with_suffix(".part").exists())]
                    warm_up.warm_up(build.chosen(spec.asked), build.maker, workers)

                    def count(_: Path, images: int) -> None:
                        nonlocal made
                        made += images
                        progress_function(progress)("images", made, table.length)

                    workers.run(partial(make_tar, build, settings, table, sets, tars), missing, count)
                    digest = _finish(directory, tars, build, record)
                for part in directory.glob("*.part"):  # of tars, and of workers that were killed while they wrote
                    part.unlink()
                locks.clean_up(directory)
    return Streamed(
        directory, digest, table.length, made, len(steps), len(tars), sum(tar.stat().st_size for tar in tars)
    )


def _finished(directory: Path, record: Mapping[str, Any]) -> str | None:
    """Return the digest of the stream where a directory holds all of it, else None; refuse one that holds another, or
    anything else.
    """
    files = sorted(path.name for path in directory.glob("[!.]*"))
    finished = "SHA256SUMS" in files
    there = directory / ("stream.json" if finished else BEGUN)
    present: dict[str, Any] = {}
    if there.exists():
        with suppress(ValueError, TypeError):
            present = dict(json.loads(there.read_bytes()))
        if differing := [key for key in KEYS if present.get(key) != record[key]]:
            raise BuildError(f"{directory} holds another stream: {', '.join(differing)} differ. Choose another --out.")
    elif files:
        raise BuildError(
            f"{directory} is not empty and holds no stream ({first_few(files)}). Choose another --out, or empty it."
        )
    sums = parse_sha256sums((directory / "SHA256SUMS").read_bytes())[0] if finished else {}
    if wrong := [
        path for path in sums if not (directory / path).is_file() or digests.sha256_file(directory / path) != sums[path]
    ]:
        raise VerificationError(
            f"{directory}: not as SHA256SUMS says are {first_few(wrong)}. Fetch them again, or choose another --out."
        )
    return present.get("digest")


def make_tar(
    build: Build, recipe: Recipe, table: StreamTable, sets: list[str], tars: Mapping[Path, range], tar: Path
) -> int:
    """Make and commit a tar of the images of some places in the stream, and return how many it has."""
    places = tars[tar]
    seed, samples, spec, made = build.maker.seed, build.samples, build.preprocessing, list[str]()
    keys = sample_keys(chosen.sample.id for chosen in samples)
    random = table.crops == "random"
    whole = Unchanged(kind="none", channels=spec.channels) if random else spec  # type: ignore[arg-type]

    @lru_cache(1)
    def order(*turn: int) -> list[int]:
        """Return the samples in the order of a step's turn: each image comes once, then each once again."""
        return list(
            Keys(hash64(["stream", STREAM_VERSION, seed, "order", *turn]), keys).uniforms().argsort(kind="stable")
        )

    def members() -> Iterator[tuple[str, bytes]]:
        for place in places:
            step, at = divmod(place, table.speed)
            turn, at = divmod(at, len(samples))
            chosen = samples[order(step, turn)[at]]
            id, label = chosen.sample.id, chosen.sample.label
            key = f"{id}@{place}"
            info = {"id": id, "place": place, "step": step, "set": sets[step], "key": key}
            image = load_clean(build.loader, chosen, whole)
            if random:
                size = image.shape[1], image.shape[0]
                crop, flipped = draw_crop(*size, ["stream", STREAM_VERSION, seed, "crop", key])
                info |= {"crop": crop, "flipped": flipped}
                image = cropped(image, crop, flipped, spec.size(*size), getattr(spec, "interpolation", "bilinear"))
            image = corruptset.corrupt(
                image, sets[step], calibration=recipe.table(), scale=recipe.scale, seed=seed, key=key
            )
            made.append(pixel_digest(image))
            yield f"sample_{place:08d}.info", json.dumps(info, ensure_ascii=False).encode()
            yield f"sample_{place:08d}.input.jpg", recipe.encoding.encode(image)
            if label is not None:
                yield f"sample_{place:08d}.output.cls", str(label).encode()

    size, sha256 = write_large(tar, tar_pieces(members()))
    record = {"path": tar.name, "bytes": size, "sha256": sha256}
    atomic.write_atomic(tar.with_suffix(".part"), json.dumps([record, made]).encode())
    return len(made)


def _finish(directory: Path, tars: Mapping[Path, range], build: Build, record: dict[str, Any]) -> str:
    """Write samples.jsonl, stream.json, and SHA256SUMS last; return the stream's digest."""
    made = [json.loads(tar.with_suffix(".part").read_bytes()) for tar in tars]
    rows = "".join(
        json.dumps({"id": i, "label": n, "sha256": s}, ensure_ascii=False) + "\n" for i, n, s in build.made_of
    )
    last = LastFiles(directory)
    files = [models.FileRecord(**file) for file, _ in made] + [last.add("samples.jsonl", rows.encode())]
    images = record["stream"]["length"]
    record |= {"images": images, "pixel_digest": digests.set_digest(one for _, pixels in made for one in pixels)}
    classes = [[one.index, one.name, one.folder] for one in build.classes]
    named = {key: record[key] for key in NAMED} | {"classes": classes, "samples": build.made_of, "count": images}
    record |= {"digest": canonical_sha256(named), "files": [file.model_dump() for file in files]}
    record["environment"] = dict(environment.environment())
    lines = ",\n".join(f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in record.items())
    last.add("SHA256SUMS", sha256sums_bytes([*files, last.add("stream.json", f"{{\n{lines}\n}}\n".encode())]))
    last.finish()
    return str(record["digest"])
