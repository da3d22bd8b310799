"""Write a changing stream of corrupted images as a sequence of tar files. Interrupted streams can be resumed."""

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
from corruptset.generate.exports.writer import tar_pieces
from corruptset.generate.pixels.preprocessing import Unchanged
from corruptset.generate.plan.builds import CheckedBuild
from corruptset.generate.plan.job import load_clean
from corruptset.generate.plan.options import BuildOptions
from corruptset.generate.plan.recipe_build import prepare
from corruptset.generate.recipes.recipe import Recipe
from corruptset.generate.sources.check import check
from corruptset.generate.work import environment, warm_up
from corruptset.manifests.checksums import parse_sha256sums, sha256sums_bytes
from corruptset.manifests.disk import atomic, remote
from corruptset.manifests.disk.atomic import write_large
from corruptset.manifests.records import digests, models
from corruptset.pixels import pixel_digest
from corruptset.progress import progress_function, shows_progress
from corruptset.workers import Workers

from .crops import cropped, draw_crop
from .walks import STREAM_VERSION, StreamTable, accuracies_of, load_stream, walk

KEYS = (
    "schema_version name version seed calibration scale preprocessing encoding stream source classes textures stages "
    "walk excluded selection accuracies"
).split()
"""The keys of stream.json that describe the request. They are compared when a stream is resumed."""
BEGUN = ".begun"
"""The file that contains these keys while a stream is unfinished.

Until the stream is finished, each finished tar file also has a file with the suffix ``.part``. It contains the size and
the checksum of the tar file, and the digests of the images in it.
"""
NAMED = "schema_version seed preprocessing stages walk pixel_digest".split()
"""The keys of stream.json that the digest of a stream covers. The digest also covers the classes and the samples."""


class Streamed(NamedTuple):
    """A finished stream, and the number of images that a call wrote."""

    directory: Path
    digest: str
    images: int
    """The number of images in the stream."""
    made: int
    """The number of images that this call wrote. Images in tar files that existed before are not counted."""
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
    *,
    seed: int = 0,
    jobs: int | None = None,
    samples: int | None = None,
    per_class: int | None = None,
    labels: str | Path | None = None,
    skip_bad: bool = False,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Streamed:
    """Write a stream of images whose corruptions change, while a reference model's accuracy stays near a baseline.

    Two corruptions are active at a time, one applied after the other. For each ordered pair of corruptions, the
    severities follow a path (`find_path`), with `speed` images per step. At the end of the path, the second corruption
    becomes the first corruption of a new pair.

    Each time an image is used, its crop, its flip and its corruptions are drawn from the key ``<sample id>@<place>``.
    To resume an interrupted stream, or to verify the files of a finished one, call the function again with the same
    arguments.

    Parameters
    ----------
    recipe : str or Path
        The name of a shipped recipe (``ccc-easy``, ``ccc-medium`` or ``ccc-hard``), or a recipe file.
    source : str
        The source of the images, as for `corruptset.build`.
    out : str or Path
        The output directory. The tar files are written to a subdirectory of it.
    accuracies : str or Path
        The accuracies of the reference model, as a scores file or a CSV file (see `accuracies_of`).
    speed : int, optional
        The number of images before the severities change. The default is that of the recipe.
    length : int, optional
        The number of images in the stream. The default is that of the recipe.
    seed, jobs, samples, per_class, labels, skip_bad
        As for `corruptset.build`.
    progress : callable or bool, optional
        A function that is called with (phase, images done, total number of images). By default, a progress bar is shown
        in terminals and notebooks. False disables it.

    Returns
    -------
    Streamed
        The directory, the digest and the size of the stream.

    Raises
    ------
    VerificationError
        If files of a finished stream are missing or changed. Other errors are as for `corruptset.build`.
    """
    remote.local_folder(out, "streams are written to")
    settings, table = load_stream(recipe, speed=speed, length=length)
    used = accuracies_of(table, accuracies)
    with interruption.resumable(Path(out)) as place:
        options = BuildOptions(
            seed=seed, jobs=jobs, samples=samples, per_class=per_class, labels=labels, skip_bad=skip_bad
        )
        spec = prepare(settings, source, options)
        seed = spec.pixels.maker.seed
        name = f"baseline_{table.baseline:g}_transition+speed_{table.speed}_seed_{seed}"
        directory = place.directory = Path(out, spec.folder, name)
        with Workers(spec.workers) as workers:
            found = check(spec.source, spec.selected, workers=workers, check_size=spec.size_problem)
            build = spec.checked(found)
            places = range(table.length)
            steps = places[:: table.speed]
            sets = list(islice(walk(table, used, seed), len(steps)))
            known = {
                **build.header_of(spec.requested).as_json(),
                "schema_version": 1,
                "calibration": settings.table().name,
                "preprocessing": build.header.preprocessing | {"crops": table.crops},
                "encoding": {**settings.encoding.model_dump(), "containers": ["webdataset"]},
                "stream": table.model_dump(mode="json"),
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
            with locks.lock_dataset(directory):
                if digest is None:
                    directory.mkdir(parents=True, exist_ok=True)
                    atomic.write_atomic(directory / BEGUN, json.dumps(record).encode())
                    missing = [tar for tar in tars if not (tar.exists() and tar.with_suffix(".part").exists())]
                    warm_up.warm_up(build.chosen(spec.requested), build.maker, workers)

                    def count(_: Path, images: int) -> None:
                        nonlocal made
                        made += images
                        progress_function(progress)("images", made, table.length)

                    workers.run(partial(make_tar, build, settings, table, sets, tars), missing, count)
                    digest = _finish(directory, tars, build, record)
                for part in directory.glob("*.part"):  # These include the files of workers that were killed.
                    part.unlink()
                (directory / BEGUN).unlink(missing_ok=True)
    return Streamed(
        directory, digest, table.length, made, len(steps), len(tars), sum(tar.stat().st_size for tar in tars)
    )


def _finished(directory: Path, record: Mapping[str, Any]) -> str | None:
    """Return the digest of the stream in a directory if it is complete, or None if it is absent or unfinished.

    Raise an error if the directory contains a different stream, other files or damaged files.
    """
    files = sorted(path.name for path in directory.glob("[!.]*"))
    finished = "SHA256SUMS" in files
    existing = directory / ("stream.json" if finished else BEGUN)
    present: dict[str, Any] = {}
    if existing.exists():
        with suppress(ValueError, TypeError):
            present = dict(json.loads(existing.read_bytes()))
        if differing := [key for key in KEYS if present.get(key) != record[key]]:
            raise BuildError(
                f"{directory} contains another stream, which differs in {', '.join(differing)}. Choose another --out."
            )
    elif files:
        raise BuildError(
            f"{directory} contains other files ({first_few(files)}) and no stream. Choose another --out, or empty the "
            "directory."
        )
    sums = parse_sha256sums((directory / "SHA256SUMS").read_bytes())[0] if finished else {}
    if wrong := [
        path for path in sums if not (directory / path).is_file() or digests.sha256_file(directory / path) != sums[path]
    ]:
        raise VerificationError(
            f"{directory} has missing or changed files, according to SHA256SUMS: {first_few(wrong)}. Download them "
            "again, or choose another --out."
        )
    return present.get("digest")


def make_tar(
    build: CheckedBuild, recipe: Recipe, table: StreamTable, sets: list[str], tars: Mapping[Path, range], tar: Path
) -> int:
    """Write a tar file of the stream, and return the number of images in it."""
    places = tars[tar]
    seed, samples, spec, made = build.maker.seed, build.samples, build.preprocessing, list[str]()
    keys = sample_keys(chosen.sample.id for chosen in samples)
    random = table.crops == "random"
    whole = Unchanged(kind="none", channels=spec.channels) if random else spec  # type: ignore[arg-type]

    @lru_cache(1)
    def order(*turn: int) -> list[int]:
        """Return the order of the samples in one turn of a step. In a turn, each image is used once."""
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
            image = load_clean(build.source, chosen, whole)
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


def _finish(directory: Path, tars: Mapping[Path, range], build: CheckedBuild, record: dict[str, Any]) -> str:
    """Write samples.jsonl, stream.json and, at the end, SHA256SUMS. Return the digest of the stream."""
    made = [json.loads(tar.with_suffix(".part").read_bytes()) for tar in tars]
    rows = "".join(
        json.dumps({"id": i, "label": n, "sha256": s}, ensure_ascii=False) + "\n" for i, n, s in build.source_rows
    )

    def write(path: str, data: bytes) -> models.FileRecord:
        atomic.write_atomic(directory / path, data)
        return models.FileRecord(path=path, bytes=len(data), sha256=digests.sha256_bytes(data))

    files = [models.FileRecord(**file) for file, _ in made] + [write("samples.jsonl", rows.encode())]
    images = record["stream"]["length"]
    record |= {"images": images, "pixel_digest": digests.set_digest(one for _, pixels in made for one in pixels)}
    classes = [[one.index, one.name, one.folder] for one in build.header.classes]
    named = {key: record[key] for key in NAMED} | {"classes": classes, "samples": build.source_rows, "count": images}
    record |= {"digest": canonical_sha256(named), "files": [file.model_dump() for file in files]}
    record["environment"] = dict(environment.environment())
    lines = ",\n".join(f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in record.items())
    write("SHA256SUMS", sha256sums_bytes([*files, write("stream.json", f"{{\n{lines}\n}}\n".encode())]))
    return str(record["digest"])
