"""Copy sources in object stores to the cache, once for each version."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

from ...corruptions.cache import cache_root
from ...errors import SourceError
from ...manifests.disk.remote import Store, url_of
from ...manifests.disk.space import check_space

AT_ONCE = 8
"""Number of objects that are downloaded at the same time."""


def local_copies(rest: str) -> str:
    """Return the part of a source's name after the scheme, with each URL replaced by the path of its local copy.

    Raises
    ------
    SourceError
        No object exists at a URL.
    MachineError
        The store does not answer, or the disk has too little space.
    """
    return ",".join(part if (url := url_of(part)) is None else _local_copy(url) for part in rest.split(","))


def _local_copy(url: str) -> str:
    """Return the path of a URL's content in the cache, after downloading it if it is missing."""
    above, _, name = url.rpartition("/")
    object_version = Store(above).version(name)
    store, versions = (
        (Store(url), Store(url).versions()) if object_version is None else (Store(above), {name: object_version})
    )
    if not versions:
        raise SourceError(f"There is no object at {url}, and none below it. Check the URL.")
    record = repr((url, sorted((path, version) for path, (_, version) in versions.items())))
    folder = cache_root() / "fetched" / sha256(record.encode()).hexdigest()[:32]
    missing = [path for path in versions if not (folder / path).is_file()]
    if missing:
        advice = f"Free some space, or name another folder for the cache: CORRUPTSET_CACHE (it is {cache_root()})."
        check_space(folder, sum(versions[path][0] for path in missing), f"a copy of {url}", advice)
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(AT_ONCE, "store") as pool:  # the first error stops the downloads that have not begun
            list(pool.map(lambda path: store.fetch(path, folder / path, versions[path][0]), missing))
    return os.fspath(folder if object_version is None else folder / name)
