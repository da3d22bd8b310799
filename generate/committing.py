"""The commit protocol: lock, what the build is, sidecars, resume, extension, refusal.

While a build is under way its directory holds `.corruptset/` with `lock`, `build.json` (what the build is and which sets
it is asked for) and `parts/<part>.json`, a sidecar for every part that exists. A finished build has manifest.json and
no `.corruptset/`. When a finished build is extended, manifest.json moves into `.corruptset/`, and its sets count as
committed. Wherever manifest.json stands in the directory itself, it speaks, and what lies in `.corruptset/` is left over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BuildError, VerificationError, listed
from ..manifests.files import MANIFEST, SAMPLES, WORK_FOLDER, fsync_folder, parse_manifest, read_jsonl, write_atomic
from ..manifests.models import Manifest, SampleRecord
from .sidecars import PARTS_FOLDER, sidecars_of
from .worker import WORKERS_LOCK

BUILD = f"{WORK_FOLDER}/build.json"
LOCK = f"{WORK_FOLDER}/lock"
BASE = f"{WORK_FOLDER}/{MANIFEST}"
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
Samples = Sequence[tuple[str, int, str]]
"""(id, label, sha256), in the source's order."""
_WORKERS_WAIT = 120.0


@dataclass(frozen=True)
class Begun:
    """A build that may be written to; the lock is held."""

    sets: tuple[str, ...]
    """Everything that will be in it: what was asked for and what was there."""
    base: Manifest | None
    """The manifest of the finished build that is extended."""
    sidecars: Mapping[tuple[str, int], Path]
    """(set id, run) -> where it is committed."""


def finished(directory: Path) -> Manifest | None:
    """Return the manifest of a finished build, or None."""
    try:
        data = (directory / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    return parse_manifest(data)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the build's lock; it goes with the process, however that ends. A finished build is left without `.corruptset/`.

    Raises
    ------
    BuildError
        Another build works in this directory.
    """
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
            if (directory / MANIFEST).exists():
                clean_up(directory)
        finally:
            os.close(fd)


def begin(directory: Path, identity: Mapping[str, Any], sets: Sequence[str], textures: Textures, samples: Samples = ()) -> Begun:
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
    samples : sequence of (id, label, sha256)
        What it is made of.

    Raises
    ------
    BuildError
        The directory holds something else; says what differs.
    """
    _wait_for_workers(directory)
    base = finished(directory)
    if base is not None:
        _clear(directory)  # what a build left that was killed between its manifest and its clean-up
        here: Mapping[str, Any] | None = identity_of(base)
        there = [s.id for s in base.sets]
    else:
        state = _read_json(directory / BUILD)
        here, there = (state["identity"], state["sets"]) if state is not None else (None, [])
        if (directory / BASE).exists():
            base = parse_manifest((directory / BASE).read_bytes())
    everything = tuple(dict.fromkeys([*sets, *there]))
    if here is not None:
        refuse_differences(directory, here, identity, sets, textures, samples)
    asked = {**identity, "textures": textures(everything)}
    if here is not None and here["textures"]:
        refuse_differences(directory, here, identity, everything, textures, samples)
    (directory / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
    if samples and not (directory / SOURCE).exists():
        write_atomic(directory / SOURCE, json.dumps(samples, ensure_ascii=False).encode())
    write_atomic(directory / BUILD, json.dumps({"identity": asked, "sets": everything}, ensure_ascii=False, indent=2).encode())
    if (directory / MANIFEST).exists():
        os.replace(directory / MANIFEST, directory / BASE)
        fsync_folder(directory)
    remove_strays(directory)
    return Begun(everything, base, sidecars_of(directory))


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
        if (directory / SOURCE).exists():
            before = {id: (label, sha256) for id, label, sha256 in json.loads((directory / SOURCE).read_bytes())}
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


def refuse_foreign(directory: Path) -> None:
    """Raise `BuildError` if a directory is there that is neither empty nor a build."""
    if not directory.exists() or (directory / WORK_FOLDER).is_dir() or (directory / MANIFEST).exists():
        return
    if not directory.is_dir():
        raise BuildError(f"{directory} is a file; a build makes a directory of this name. Choose another --out.")
    strange = sorted(p.name for p in directory.iterdir())
    if strange:
        raise BuildError(
            f"{directory} is not empty and holds no build ({', '.join(strange[:5])}{' ...' if len(strange) > 5 else ''}). "
            "Choose another --out, or empty it."
        )


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


def _wait_for_workers(directory: Path) -> None:
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


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return found


def _clear(directory: Path) -> None:
    shutil.rmtree(directory / PARTS_FOLDER, ignore_errors=True)
    for name in (BUILD, BASE, SOURCE):
        (directory / name).unlink(missing_ok=True)


def remove_strays(directory: Path) -> None:
    """Remove temporary files that a killed build, or a killed worker of this one, left; single images have none.

    Nothing else may be writing. Beside shards and records they lie where views have their labels, at most two folders deep.
    """
    roots = [directory / "hdf5", directory / "sets", directory / WORK_FOLDER]
    shallow = [p for pattern in (".*.part", "*/.*.part", "*/*/.*.part") for p in directory.glob(pattern)]
    for path in [*shallow, *(p for root in roots for p in root.rglob(".*.part"))]:
        path.unlink(missing_ok=True)
