"""Sources in object stores: a folder of images, read object by object; everything else by a local copy in the cache, made once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256

from ...corruptions.cache import cache_root
from ...errors import SourceError
from ...manifests.disk.remote import Store, at_once, url_of
from ...manifests.disk.space import check_space
from .decoding import MAX_FILE_BYTES
from .image_files import ImageList, ImageSource
from .listing import Listing, ignored
from .source import BadSample, Sample


def local_copies(rest: str) -> str:
    """Return what stands after a source's scheme with each URL of it replaced by a path; several are separated by commas.

    Raises
    ------
    SourceError
        There is nothing at a URL.
    """
    return ",".join(local_copy(url) if (url := url_of(part)) is not None else part for part in rest.split(","))


def local_copy(url: str) -> str:
    """Return where the file or the folder at a URL lies in the cache; it is fetched where no copy of this version is there.

    Raises
    ------
    SourceError
        There is nothing.
    MachineError
        The store does not answer, or the disk has too little space.
    """
    above, _, name = url.rpartition("/")
    one = Store(above).version(name)
    store, versions = (Store(url), Store(url).versions()) if one is None else (Store(above), {name: one})
    if not versions:
        raise SourceError(f"There is no object at {url}, and none below it. Check the URL.")
    record = repr((url, sorted((path, version) for path, (_, version) in versions.items())))
    folder = cache_root() / "fetched" / sha256(record.encode()).hexdigest()[:32]
    missing = [path for path in versions if not (folder / path).is_file()]
    if missing:
        advice = f"Free some space, or name another folder for the cache: CORRUPTSET_CACHE (it is {cache_root()})."
        check_space(folder, sum(versions[path][0] for path in missing), f"a copy of {url}", advice)
        folder.mkdir(parents=True, exist_ok=True)
        at_once(lambda path: store.fetch(path, os.fspath(folder)), missing)
    return os.fspath(folder if one is None else folder / name)


class StoreSource(ImageSource):
    """Images in a store, below the place of its URL."""

    def __init__(self, images: ImageList, url: str) -> None:
        super().__init__("folder", images)
        self.url = url
        self._held: dict[str, bytes | None] = {}

    def ahead(self, samples: Sequence[Sample]) -> None:
        """Read the files of samples that are used next, several at once."""
        paths = [sample.path for sample in samples if sample.path is not None]
        self._held = dict(zip(paths, at_once(self._bytes, paths), strict=True))

    def read(self, sample: Sample) -> bytes:
        assert sample.path is not None
        data = self._held.pop(sample.path) if sample.path in self._held else self._bytes(sample.path)
        if data is None:
            raise BadSample("is not in the store any more: put it back, or leave it out")
        return data

    def _bytes(self, path: str) -> bytes | None:
        try:
            return Store(self.url).read(path)
        except FileNotFoundError:
            return None


def list_store(url: str) -> Listing:
    """List the images of a folder in a store as `list_folder` lists one on disk, with one listing; nothing is read.

    Raises
    ------
    SourceError
        Nothing lies there.
    """
    files: Mapping[str, int] = Store(url).files()
    if not files:
        raise SourceError(f"The source folder:{url}: nothing lies below this URL. Expected images, one folder a class.")
    listing = Listing()
    for path, size in files.items():
        if any(ignored(part) for part in path.split("/")):
            continue
        if size > MAX_FILE_BYTES:
            listing.notes.append((path, f"has more than the {MAX_FILE_BYTES:,} bytes that one image file may have: leave it out"))
        else:
            listing.add(path, path, "name it as what it is, or move it away")
    listing.folders = sorted({path.partition("/")[0] for path in files if "/" in path and not ignored(path.partition("/")[0])})
    return listing
