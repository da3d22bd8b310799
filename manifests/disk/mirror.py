"""Local folders that stand for a place in an object store."""

from __future__ import annotations

import atexit
import bisect
import errno
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import StoreError
from .remote import AT_ONCE, Store, at_once, url_of

T = TypeVar("T")

WINDOW = 4 * AT_ONCE
"""Objects that are brought before the first of them is used, where many are read in order."""
KEPT_BYTES = 4 << 30
"""Of images and shards that one process keeps on its disk after it has fetched them."""
LEAST_KEPT = 64
"""So many are kept whatever they weigh."""

if TYPE_CHECKING:
    _LocalPath = PosixPath
else:
    _LocalPath = type(Path())


class Mirror(_LocalPath):
    """A local folder that stands for a place in a store: ``mirror / "a/b"`` brings the object there, if the store has it.

    It is a path of its own folder and travels to workers of this machine, which share the folder; on another one a new folder is made.
    """

    store: Store | None = None
    known: Mapping[str, int] | None = None
    """The only objects that are fetched, path -> bytes; None fetches whatever is asked for."""

    absent: set[str]
    """What was asked for and is not there."""

    @classmethod
    def of(cls, url: str, folder: str | None = None, *, known: Mapping[str, int] | None = None) -> Mirror:
        """Return the mirror of a place, in a temporary folder that goes away with this process where none is given."""
        if folder is None or not os.path.isdir(folder):
            folder = tempfile.mkdtemp(prefix="corruptset-store-")
            atexit.register(_remove_if_mine, folder, os.getpid())
        mirror = cls(folder)
        mirror.store, mirror.known, mirror.absent = Store(url), known, set()
        return mirror

    @property
    def opened(self) -> Store:
        """The store."""
        assert self.store is not None
        return self.store

    def with_segments(self, *segments: str | os.PathLike[str]) -> Path:
        """Return a plain path: what is below is no mirror (Python 3.12 and newer ask this)."""
        return Path(*segments)

    def __format__(self, spec: str) -> str:
        return place_name(self)  # what people read

    def __truediv__(self, key: str | os.PathLike[str]) -> Path:  # type: ignore[override]
        path, name = Path(os.fspath(self), key), os.fspath(key)
        if self.store is not None and (self.known is None or name in self.known) and not os.path.lexists(path):
            self._fetch(name, path)
        return path

    def _fetch(self, name: str, path: Path) -> None:
        if name in self.absent:
            return
        if not self.opened.fetch(name, os.fspath(self)):
            self.absent.add(name)
        elif "/" in name and not name.startswith("sets/"):  # records stay
            _keep(path)

    def put_state(self, names: Iterable[str]) -> None:
        """Put what says what a build is; from now on it is written to, and nothing is fetched."""
        self.opened.put_all(names, os.fspath(self))
        self.known = {}

    def ahead(self, names: Iterable[str]) -> None:
        """Bring several objects, some at the same time."""
        at_once(self.__truediv__, names)

    def listed(self, below: str = "") -> dict[str, int]:
        """Return path -> bytes of the objects at and below a folder; the listing of the whole is made once."""
        if below and self.known is None:
            return self.opened.files(below)
        if self.known is None:
            self.known = self.opened.files()
        names = list(self.known)
        first = bisect.bisect_left(names, f"{below}/") if below else 0
        last = bisect.bisect_left(names, f"{below}0") if below else len(names)  # "0" follows "/"
        return {name: self.known[name] for name in names[first:last]}

    def __reduce__(self) -> Any:
        return _mirror_again, (self.store.url if self.store is not None else None, os.fspath(self), self.known == {})


def _mirror_again(url: str | None, folder: str, nothing: bool) -> Path:
    return Path(folder) if url is None else Mirror.of(url, folder, known={} if nothing else None)


_kept: OrderedDict[Path, int] = OrderedDict()
_kept_bytes = [0]
_keeping = threading.Lock()


def _keep(path: Path) -> None:
    """Count a fetched file; the oldest go when they are too many. A file that is open is read on."""
    with _keeping:
        _kept[path] = path.stat().st_size
        _kept_bytes[0] += _kept[path]
        while _kept_bytes[0] > KEPT_BYTES and len(_kept) > LEAST_KEPT:
            oldest, size = _kept.popitem(last=False)
            oldest.unlink(missing_ok=True)
            _kept_bytes[0] -= size


def _remove_if_mine(folder: str, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def ahead(root: Path, items: Iterable[T], path_of: Callable[[T], str]) -> Iterator[T]:
    """Yield items, each of a file of a data set; of a mirror, the objects of the next ones are brought at the same time."""
    remaining = iter(items)
    while window := list(islice(remaining, WINDOW)):
        if isinstance(root, Mirror):
            root.ahead(map(path_of, window))
        yield from window


def data_folder(directory: str | os.PathLike[str]) -> Path:
    """Return the folder of a data set that is to be read: the path, or a mirror of a place in a store."""
    if isinstance(directory, Mirror):
        return directory
    url = url_of(directory)
    return Path(directory) if url is None else Mirror.of(url)


def on_disk(path: str | os.PathLike[str], what: str) -> None:
    """Raise `StoreError` for a place in a store, where `what`, as the beginning of a sentence, is not done; or for a link to itself."""
    if (url := url_of(path)) is not None:
        raise StoreError(f"{url}: {what} on a disk only. Name a local folder; your store's own tool copies from and to it.")
    try:
        os.stat(path)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise StoreError(f"{os.fspath(path)} is a link that leads to itself. Name another folder.") from None


def place_name(directory: str | os.PathLike[str]) -> str:
    """Return what a folder is called in messages: a mirror by the URL that it stands for."""
    if isinstance(directory, Mirror) and directory.store is not None:
        return directory.store.url
    return url_of(directory) or os.fspath(directory)
