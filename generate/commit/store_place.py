"""A build whose place is an object store.

Its state lies in the store as a local build's lies in its directory: `.corruptset/lock`, `build.json` and a sidecar for every part, which
is put when all objects of the part are there. A build begins with an empty folder of its own in the cache, brings the state there with
one listing, makes each part in it, and ends with the last files, manifest.json after all others. So nothing local counts: the
same command resumes on any machine.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from ...corruptions.cache import cache_root
from ...errors import BuildError, MachineError, StoreError, first_few
from ...manifests.disk import lock
from ...manifests.disk.mirror import Mirror
from ...manifests.disk.remote import Store, at_once
from ...manifests.layout import CONTACT, IMAGES, LOCK, MANIFEST, PAGE, PARTS_FOLDER, SHARDS, WORK_FOLDER
from ...manifests.manifest_file import parse_manifest
from ..plan.build_spec import BuildSpec
from ..work.sidecars import read_sidecar
from ..work.uploads import stored_files
from .locks import wait_for_workers


@contextmanager
def store_place(url: str, spec: BuildSpec) -> Iterator[Mirror]:
    """Give the folder that stands for a build in a store, with the store's lock held; when all went well, put what is new there.

    Raises
    ------
    BuildError
        Another build works there, or what is asked for cannot be done in a store.
    StoreError
        The store is not there, or does not let us write.
    """
    if shared := [path for sink in spec.asked_sinks for path in sink.shared_files()]:
        raise BuildError(
            f"{url}: {first_few(shared, 2)} would be written by many workers at their own offsets, which an object store does not allow. "
            "Build with --format hdf5 there and export the view from it, or choose a local --out. Nothing was written."
        )
    source = getattr(spec.source, "url", None)
    if source is not None and (f"{url}/".startswith(f"{source}/") or f"{source}/".startswith(f"{url}/")):
        raise BuildError(f"{url} and the source, {source}, lie one in the other. Choose another --out. Nothing was written.")
    own = cache_root() / "stores" / sha256(url.encode()).hexdigest()[:32]
    busy = f"Another build on this machine is working in {url}. Wait for it, stop it, or choose another --out."
    with lock.locked(own / "lock", busy):
        store = Store(url)
        with _held(store, own):
            files = store.files()
            _refuse_foreign(url, files)
            folder = own / "data"
            if (folder / WORK_FOLDER).is_dir():
                wait_for_workers(folder)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                mirror = Mirror.of(url, os.fspath(folder), known={p: files[p] for p in (MANIFEST, PAGE, CONTACT) if p in files})
                if MANIFEST in files:
                    _refuse_extension(mirror, spec)
                else:
                    state = [path for path in files if path.startswith(f"{WORK_FOLDER}/") and path != LOCK]
                    at_once(lambda path: store.fetch(path, os.fspath(folder)), state)
                yield mirror
                _put_last(mirror)
                # a build that was killed after its manifest left its state
                at_once(store.remove, [p for p in store.files(WORK_FOLDER) if p != LOCK])
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def _refuse_foreign(url: str, files: Iterable[str]) -> None:
    names = [path for path in files if path != LOCK]
    if names and MANIFEST not in names and not any(path.startswith(f"{WORK_FOLDER}/") for path in names):
        raise BuildError(f"{url} is not empty and holds no build ({first_few(names)}). Choose another --out, or empty it.")


def _refuse_extension(mirror: Mirror, spec: BuildSpec) -> None:
    base = parse_manifest((mirror / MANIFEST).read_bytes())
    if new := sorted(set(spec.asked) - {s.id for s in base.sets}):
        raise BuildError(
            f"{mirror} is a finished build without the sets {first_few(new)}, and a build in a store is not extended. Build all the sets "
            "that you want into another --out; or copy this one to a disk, extend it there, and put it back."
        )


class Looked:
    """Looks at a build in a store before it is finished: every object that a sidecar names has to be there."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def part(self, sidecar: Path) -> None:
        """Its worker has put it."""

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Compare one listing with all sidecars; take back the parts that lack something, and remove objects of no part.

        Raises
        ------
        MachineError
            Something is missing, as after a hand that removed objects.
        """
        store = self.mirror.opened
        files, named, lost = store.files(), set[str](), []
        for path in sidecars:
            wanted = stored_files(read_sidecar(path).sets)
            if any(files.get(name) != size for name, size in wanted.items()):
                lost.append(path)
            named |= wanted.keys()
        if lost:
            at_once(store.remove, [f"{PARTS_FOLDER}/{path.name}" for path in lost])
            raise MachineError(
                f"{self.mirror}: objects of {len(lost)} parts are gone or have other sizes. Run the same command again: it makes them."
            )
        at_once(store.remove, [path for path in files if path.startswith((IMAGES, SHARDS)) and path not in named])
        self.mirror.known = {path: size for path, size in files.items() if path in named}


def _put_last(mirror: Mirror) -> None:
    """Put the records and the last files of a build that was finished now, manifest.json after all others."""
    known = mirror.known or {}
    if MANIFEST in known:
        return
    paths = sorted(p.relative_to(mirror).as_posix() for p in mirror.rglob("*") if p.is_file())
    last = [p for p in paths if p not in known and p != MANIFEST and not p.startswith(f"{WORK_FOLDER}/")]
    mirror.opened.put_all(last, os.fspath(mirror))
    mirror.opened.put(MANIFEST, mirror / MANIFEST)


@contextmanager
def _held(store: Store, own: Path) -> Iterator[None]:
    """Hold the lock object of a build, which names its holder; one that this folder's last, dead holder left is taken over."""
    name = own / "holder"
    if not name.exists():
        name.write_text(secrets.token_hex(16))
    holder = name.read_text()
    record = {"holder": holder, "machine": socket.gethostname(), "since": datetime.now(UTC).isoformat(timespec="seconds")}
    data = json.dumps({**record, "one": secrets.token_hex(8)}).encode()
    if not store.create(LOCK, data):
        try:
            other = json.loads(store.read(LOCK))
        except (FileNotFoundError, ValueError):
            other = {}
        if other.get("holder") != holder:  # ours is dead: the lock of its folder is held by us
            raise BuildError(
                f"{store.url} is locked by a build on {other.get('machine', 'another machine')} since {other.get('since', 'a while')}. "
                f"Wait for it, or choose another --out. If that build is dead, remove the object {store.at(LOCK)} with your store's "
                "own tool, and run this command again: what was committed stands."
            )
        store.put(LOCK, data)
    try:
        yield
    finally:
        with suppress(MachineError, StoreError):  # another error came before; this machine takes its lock over
            store.remove(LOCK)
