"""The commit protocol: lock, what the build is, sidecars, resume, extension, refusal.

While a build is under way its directory holds `.corruptset/` with `lock`, `build.json` (what the build is and which sets
it is asked for) and `parts/<part>.json`, a sidecar for every part that exists. A finished build has manifest.json and
no `.corruptset/`. While a finished build is extended it has both: build.json names the manifest by its hash, and the sets
that the manifest names count as committed. Where build.json names another manifest, or none, `.corruptset/` is left over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BuildError, VerificationError, listed
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.layout import MANIFEST, PARTS_FOLDER, SAMPLES, WORK_FOLDER, is_begun, set_places
from ...manifests.manifest_file import parse_manifest
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest, SampleRecord
from ...manifests.unfinished import Unfinished, read_unfinished, write_unfinished
from ..plan.job import Origin
from ..work.sidecars import sidecars
from ..work.worker import WORKERS_LOCK
from .sweep import sweep

LOCK = f"{WORK_FOLDER}/lock"
_OLD_BASE = f"{WORK_FOLDER}/{MANIFEST}"
SOURCE = f"{WORK_FOLDER}/source.json"
"""What the build is made of: so that a source that has changed can be refused with the samples that have."""

# What a build is: a manifest's fields that must be equal for two commands to mean the same build.
IDENTITY = (
    "schema_version",
    "name",
    "version",
    "seed",
    "coupling",
    "scale",
    "recipe",
    "source",
    "preprocessing",
    "encoding",
    "textures",
    "classes",
    "excluded",
    "selection",
    "views",
)
Textures = Callable[[Sequence[str]], list[dict[str, str]]]
Places = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
Samples = Sequence[tuple[str, int, str]]
"""(id, label, sha256), in the source's order."""
_WORKERS_WAIT = 120.0


@dataclass(frozen=True)
class OpenBuild:
    """A build that may be written to; the lock is held."""

    sets: tuple[str, ...]
    """Everything that will be in it: what was asked for and what was there."""
    base: Manifest | None
    """The manifest of the finished build that is extended."""
    sidecars: dict[tuple[str, int], Path]
    """(set id, run) -> where it is committed."""
    origin: Origin
    """What its sidecars say that they belong to."""


def finished(directory: Path) -> Manifest | None:
    """Return the manifest of a finished build, or None."""
    try:
        data = (directory / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    return parse_manifest(data)


def extended(directory: Path) -> Unfinished | None:
    """Return what an unfinished extension of the finished build says of itself, or None."""
    state = read_unfinished(directory) if (directory / MANIFEST).exists() else None
    return state if state is not None and state.base == sha256_file(directory / MANIFEST) else None


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the build's lock; it goes with the process, however that ends.

    A finished build is left without `.corruptset/`, unless it is being extended.

    Raises
    ------
    BuildError
        Another build works in this directory, or it cannot be written to.
    """
    refuse_place(directory)
    path = directory / LOCK
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise BuildError(
                f"Another build is working in {directory}. Wait for it, stop it, or choose another --out. "
                "(The lock goes when that process ends.)"
            ) from None
        # A build that has just finished removed the folder: then this lock is on a file that nobody will find.
        if path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            break
        os.close(fd)
    try:
        yield
    finally:
        try:
            if (directory / MANIFEST).exists() and extended(directory) is None:
                clean_up(directory)
        finally:
            os.close(fd)


def begin(
    directory: Path, identity: Mapping[str, Any], sets: Sequence[str], textures: Textures, places: Places, samples: Samples = ()
) -> OpenBuild:
    """Start, resume or extend a build; the lock must be held.

    Parameters
    ----------
    directory : Path
    identity : mapping
        The `IDENTITY` fields of the manifest to be, and ``metrics``: the number of images that metrics are over.
    sets : sequence of str
        What is asked for.
    textures : callable
        Set ids -> the ``textures`` of the manifest to be.
    places : callable
        Set ids -> the folder or the arrays of each set's images.
    samples : sequence of (id, label, sha256)
        What it is made of.

    Raises
    ------
    BuildError
        The directory holds something else; says what differs.
    """
    wait_for_workers(directory)
    base = finished(directory)
    state = extended(directory) if base is not None else read_unfinished(directory)
    here = identity_of(base) if base is not None else state.identity if state is not None else None
    named = [s.id for s in base.sets] if base is not None else []
    everything = tuple(dict.fromkeys([*sets, *(state.sets if state is not None else named)]))
    if here is not None:
        refuse_differences(directory, here, identity, sets, textures, samples)
    asked = {**identity, "textures": textures(everything)}
    if here is not None and here["textures"]:
        refuse_differences(directory, here, identity, everything, textures, samples)
    origin = Origin.of(identity, asked["textures"])
    found, strange = _committed(directory, origin, set(everything) - set(named))
    # What they made lies there still, and so does what a build made whose build.json is gone.
    if strange or (state is None and (directory / PARTS_FOLDER).exists()):
        sweep(directory, base, found, places(everything))
    (directory / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
    made_of = json.dumps(samples, ensure_ascii=False).encode()
    if read_hashed(directory / SOURCE) != made_of:
        write_hashed(directory / SOURCE, made_of)
    manifest = sha256_file(directory / MANIFEST) if base is not None else None
    write_unfinished(
        directory,
        Unfinished(base=manifest, sets=list(everything), places={s: list(p) for s, p in places(everything).items()}, identity=asked),
    )
    remove_strays(directory)
    return OpenBuild(everything, base, found, origin)


def _committed(directory: Path, origin: Origin, wanted: Collection[str]) -> tuple[dict[tuple[str, int], Path], bool]:
    """Return where what is wanted is committed: (set id, run) -> sidecar. All other sidecars are removed; say whether there were any."""
    found: dict[tuple[str, int], Path] = {}
    strange = False
    for path, sidecar in sidecars(directory):
        if sidecar is None or not sidecar.of(origin) or not any(s in wanted for s in sidecar.sets):
            path.unlink()
            strange = True
        else:
            found |= {(s, sidecar.run): path for s in sidecar.sets if s in wanted}
    return found, strange


def difference(here: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Return what differs, one line a field.

    Examples
    --------
    >>> difference({"seed": 0, "source": {"name": "sample"}}, {"seed": 1, "source": {"name": "folder"}})
    ['seed: here 0, asked for 1', "source.name: here 'sample', asked for 'folder'"]
    """
    return list(_differences("", here, asked))


def refuse_differences(
    directory: Path,
    here: Mapping[str, Any],
    identity: Mapping[str, Any],
    sets: Sequence[str],
    textures: Textures,
    samples: Samples = (),
) -> None:
    """Raise `BuildError` with the difference if two builds are not the same; textures count where both have sets with textures."""
    asked = {**identity, "textures": textures(sets)}
    if not (asked["textures"] and here["textures"]):
        asked["textures"] = here["textures"]
    problems = difference(here, json.loads(json.dumps(asked)))
    if any(p.startswith("source.digest:") for p in problems):
        problems += _changed_samples(directory, samples)
    if problems:
        raise BuildError(
            f"{directory} holds another build than the one asked for; only sets can be added to it. What differs:\n{listed(problems, 20)}\n"
            "Choose another --out, or delete that directory."
        )


def _changed_samples(directory: Path, samples: Samples) -> list[str]:
    """Return what has become of the source since the build was begun, one line a sample; nothing where that was not written down."""
    before: dict[str, tuple[int, str]]
    try:
        if (said := read_hashed(directory / SOURCE)) is not None:
            before = {id: (label, sha256) for id, label, sha256 in json.loads(said)}
        else:
            before = {s.id: (s.label, s.sha256) for s in read_jsonl(directory / SAMPLES, SampleRecord)}
    except (ValueError, VerificationError):
        return []
    now = {id: (label, sha256) for id, label, sha256 in samples}
    lines = []
    for id in sorted(before.keys() | now.keys()):
        if id not in now:
            lines.append(f"source: {id} was in it and is not any more")
        elif id not in before:
            lines.append(f"source: {id} was not in it before")
        elif before[id][1] != now[id][1]:
            lines.append(f"source: {id} holds other bytes ({before[id][1]} before, {now[id][1]} now)")
        elif before[id] != now[id]:
            lines.append(f"source: {id} had the label {before[id][0]} and has {now[id][0]}")
    return lines


def refuse_place(directory: Path) -> None:
    """Raise `BuildError` if there is no place for a directory, or it cannot be written to."""
    there = directory.absolute()
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir():
        raise BuildError(f"{there} is not a folder; expected was a place for {directory}. Choose another --out.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BuildError(
            f"{there} cannot be written to (Permission denied, or a read-only disk); {directory} has to be. "
            "Mend the path's permissions, or choose another --out."
        )


def refuse_foreign(directory: Path) -> None:
    """Raise `BuildError` if a directory cannot be made, or is there and is neither empty nor a build."""
    if (directory / MANIFEST).exists():
        return
    refuse_place(directory)
    if (directory / _OLD_BASE).exists():
        raise BuildError(
            f"{directory} was being extended by an older corruptset, which cannot be resumed. Move {directory / _OLD_BASE} back to "
            f"{directory / MANIFEST} and remove {directory / WORK_FOLDER}, or choose another --out."
        )
    strange = sorted(p.name for p in directory.iterdir()) if directory.exists() and not is_begun(directory) else []
    if strange and strange != [WORK_FOLDER]:
        raise BuildError(
            f"{directory} is not empty and holds no build ({', '.join(strange[:5])}{' ...' if len(strange) > 5 else ''}). "
            "Choose another --out, or empty it."
        )


def leave_finished(directory: Path, manifest: Manifest) -> None:
    """Remove what a build left that was killed between its manifest and its clean-up; an unfinished extension is left as it is."""
    if not (directory / WORK_FOLDER).exists() or extended(directory) is not None:
        return
    with locked(directory):
        if read_unfinished(directory) is None and (directory / PARTS_FOLDER).exists():
            sweep(directory, manifest, {}, set_places(manifest))


def clean_up(directory: Path) -> None:
    """Remove `.corruptset/` of a finished build."""
    shutil.rmtree(directory / WORK_FOLDER, ignore_errors=True)


def identity_of(manifest: Manifest) -> dict[str, Any]:
    record = manifest.as_json()
    images = {s.metrics.images if s.metrics is not None else 0 for s in manifest.sets}
    views = [{key: value for key, value in view.items() if key != "sets"} for view in record["views"]]
    return {key: record[key] for key in IDENTITY} | {"views": views, "metrics": max(images, default=0)}


def _differences(where: str, here: Any, asked: Any) -> Iterator[str]:
    if isinstance(here, Mapping) and isinstance(asked, Mapping):
        for key in [*here, *(k for k in asked if k not in here)]:
            yield from _differences(f"{where}.{key}" if where else str(key), here.get(key), asked.get(key))
    elif isinstance(here, list) and isinstance(asked, list) and len(here) == len(asked):
        for i, (one, other) in enumerate(zip(here, asked, strict=True)):
            name = one.get("id", i) if isinstance(one, Mapping) else i
            yield from _differences(f"{where}[{name}]", one, other)
    elif here != asked:
        yield f"{where}: here {_short(here)}, asked for {_short(asked)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def wait_for_workers(directory: Path) -> None:
    """Wait until no worker of a killed build is left; they notice by themselves, at the latest after one batch."""
    fd = os.open(directory / WORKERS_LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        deadline = time.monotonic() + _WORKERS_WAIT
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BuildError(
                        f"Workers of an earlier build are still writing to {directory} after {_WORKERS_WAIT:.0f} s. "
                        "End those processes and run the command again."
                    ) from None
                time.sleep(0.05)
    finally:
        os.close(fd)


def remove_strays(directory: Path) -> None:
    """Remove temporary files that a killed build, or a killed worker of this one, left; single images have none.

    Nothing else may be writing. Beside shards and records they lie where views have their labels, at most two folders deep.
    """
    roots = [directory / "hdf5", directory / "sets", directory / WORK_FOLDER]
    shallow = [p for pattern in (".*.part", "*/.*.part", "*/*/.*.part") for p in directory.glob(pattern)]
    for path in [*shallow, *(p for root in roots for p in root.rglob(".*.part"))]:
        path.unlink(missing_ok=True)
