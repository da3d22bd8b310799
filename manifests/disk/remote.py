"""Object stores (s3://, gs://, ...) by fsspec: their URLs, and requests that are tried again."""

from __future__ import annotations

import errno
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...digests import digits
from ...errors import MachineError, ParameterError, ReleaseError, StoreError, install_extra
from ...files import NUL
from .atomic import write_large

TRIES = 8
"""So often is one request made before it counts as failed."""
FIRST_WAIT_S = 0.25
"""The wait after the first try; each later one is twice as long: 32 s in all, less a random part of up to half."""
READ_AHEAD = 8 << 20
"""Bytes of one request, of an object that is read piece by piece."""

_URL = re.compile(r"([a-z][a-z0-9+-]+):/+(.*)", re.DOTALL)
_SECRET = re.compile(r"SECRET|TOKEN|PASSWORD|CREDENTIAL|ACCESS_KEY|ACCOUNT_KEY|API_KEY")
_LASTING = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENFILE")} - {None}
"""Errors of this machine that another attempt does not change."""
_STORE_LIBRARIES = (
    "aiobotocore",
    "aiohttp",
    "azure",
    "botocore",
    "gcsfs",
    "google",
    "huggingface_hub",
    "requests",
    "urllib3",
)
_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError", "DefaultCredentialsError")


def url_of(text: str | os.PathLike[str]) -> str | None:
    """Return the URL of a store that is given, or None.

    A path that was made of a URL has lost a slash.

    StoreError: a user name, a password or a signature is in it. ParameterError: it has a NUL character.

    Examples
    --------
    >>> url_of("s3://bucket/sets/"), url_of(Path("gs:/bucket/sets")), url_of("sets/c")
    ('s3://bucket/sets', 'gs://bucket/sets', None)
    """
    if "\0" in os.fspath(text):
        raise ParameterError(f"The path {os.fspath(text)!r} cannot be used: {NUL}.")
    match = _URL.fullmatch(os.fspath(text))
    if match is None:
        return None
    scheme, rest = match.groups()
    if "@" in rest.partition("/")[0] or "?" in rest:
        raise StoreError(
            f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}: a URL with a user name, a password or a "
            "signature in it is not taken: it would end up in logs. Give the plain URL, and credentials in the "
            "environment or in the store's own configuration."
        )
    return f"{scheme}://{'/' if scheme == 'file' else ''}{rest.rstrip('/')}"


def local_folder(path: str | os.PathLike[str], what: str) -> Path:
    """Return a path on a disk; `what` begins a sentence.

    StoreError: it is a URL, or a link to itself.

    Examples
    --------
    >>> local_folder("s3://bucket/sets", "builds are written to")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    corruptset.errors.StoreError: s3://bucket/sets: builds are written to a local folder. `corruptset pack` ...
    """
    if (url := url_of(path)) is not None:
        raise StoreError(
            f"{url}: {what} a local folder. `corruptset pack` and `publish` send a data set to a store, `corruptset "
            "fetch` brings it."
        )
    try:
        os.stat(path)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise StoreError(f"{os.fspath(path)} is a link that leads to itself. Name another folder.") from None
    return Path(path)


def data_folder(directory: str | os.PathLike[str]) -> Path:
    """Return the folder of a data set that is to be read, or raise `StoreError`."""
    return local_folder(directory, "data sets are read from")


def redacted(text: str) -> str:
    """Return a text without passwords, queries of URLs and secrets of the environment.

    Examples
    --------
    >>> redacted('no answer from "https://me:word@host/key?X-Amz-Signature=0f"')
    'no answer from "https://***@host/key?***"'
    """
    text = re.sub(r"//[^/@\s]+@", "//***@", text)
    text = re.sub(r"(//[^\s\"'?]+\?)[^\s\"']+", r"\1***", text)
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name.upper()):
            text = text.replace(value, "***")
    return text


class Reply(NamedTuple):
    """The bytes of a file from `start` on."""

    start: int
    """0 where the server gives the whole file, whatever was asked for."""
    total: int | None
    """Bytes of the whole file, where the server says it."""
    chunks: Iterator[bytes]


class Store:
    """A place in an object store, which may be pickled and forked.

    Each method raises StoreError (the bucket is not there, nothing may be read or written there, or there are no
    credentials) or MachineError: the store does not answer, `TRIES` times in a row.
    """

    def __init__(self, url: str) -> None:
        self.name = url
        self._s3 = url.startswith("s3")

    def pieces(self, path: str, start: int, size: int) -> Iterator[bytes]:
        """Yield the bytes of an object of `size` bytes, from `start` on; or raise FileNotFoundError."""
        for at in range(start, size, READ_AHEAD):
            yield self._read(path, at, min(at + READ_AHEAD, size))

    def _read(self, path: str, start: int, end: int) -> bytes:
        options = {"max_concurrency": 1} if self._s3 else {}  # else s3fs asks for the size first
        data: bytes = self._tried("reading", path, lambda fs, url: fs.cat_file(url, start=start, end=end, **options))
        return data

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Reply]:
        """Open an object at a byte; ReleaseError: it is not there."""
        found = self.version(path)
        if found is None:
            raise ReleaseError(f"{self.name}/{path} does not exist. Check the address, that of the release's folder.")
        yield Reply(start, found[0], self.pieces(path, start, found[0]))

    def kept_sha256(self, path: str) -> str | None:
        """Return the digest that is kept beside an object, whatever is there now."""
        kept = self._s3 and self._tried("looking at", path, lambda fs, url: fs.metadata(url).get("sha256"))
        return f"sha256:{kept}" if kept else None

    def versions(self) -> dict[str, tuple[int, str]]:
        """Return path -> size and version of all objects, in the order of names."""
        found = self._tried("listing", "", lambda fs, url: (fs.find(url, detail=True), fs._strip_protocol(url)))
        objects, top = found
        named = {name[len(top) + 1 :]: info for name, info in objects.items() if name.startswith(f"{top}/")}
        # a store may hold empty objects whose names end with a slash, made by browsers as folders
        return {path: _version(named[path]) for path in sorted(named) if path and not path.endswith("/")}

    def version(self, path: str) -> tuple[int, str] | None:
        """Return an object's size and version; None where there is none."""
        try:
            info = self._tried("looking at", path, lambda fs, url: fs.info(url))
        except FileNotFoundError:
            return None
        return _version(info) if info["type"] == "file" else None

    def fetch(self, path: str, target: Path, size: int) -> None:
        """Bring an object of `size` bytes to a disk, whole or not at all."""
        target.parent.mkdir(parents=True, exist_ok=True)
        write_large(target, self.pieces(path, 0, size))

    def put(self, path: str, data: bytes | Path, sha256: str, sent: Callable[[int], None]) -> None:
        """Write an object whole or not at all, in parts where it is large.

        On S3 its digest is kept beside it. `sent` is told how many bytes of a file are on their way.
        """
        options: dict[str, Any] = {"Metadata": {"sha256": digits(sha256)}} if self._s3 else {}

        def write(fs: Any, url: str) -> None:
            from fsspec.callbacks import Callback

            if isinstance(data, bytes):
                fs.pipe_file(url, data, **options)
            else:
                told = Callback(hooks={"sent": lambda size, value: sent(value)})
                fs.put_file(os.fspath(data), url, callback=told, **options)

        self._tried("writing", path, write)

    def _tried(self, doing: str, path: str, call: Callable[[Any, str], Any]) -> Any:
        url = f"{self.name}/{path}" if path else self.name
        for attempt in range(TRIES):
            try:
                return call(_filesystem(self.name), url)
            except Exception as e:
                _refuse_lasting(e, url, doing)
                if not _may_pass(e):
                    raise
                if attempt + 1 == TRIES:
                    reason = redacted(f"{type(e).__name__}: {e}")
                    raise MachineError(
                        f"{self.name}: {doing} {path or 'it'} failed {TRIES} times in a row ({reason}). What was "
                        "committed there stands: run the same command again when the store answers, and it goes on "
                        "where it stopped."
                    ) from None
            time.sleep(FIRST_WAIT_S * 2**attempt * random.uniform(0.5, 1.0))
        return None


def _version(info: Mapping[str, Any]) -> tuple[int, str]:
    names = ("ETag", "etag", "md5Hash", "LastModified", "updated", "mtime", "created")
    return int(info["size"]), next((str(info[name]) for name in names if name in info), "")


def _filesystem(url: str) -> Any:
    """Return fsspec's file system of a URL, configured by fsspec's own ways."""
    import fsspec

    scheme = url.partition("://")[0]
    options: dict[str, Any] = {"use_listings_cache": False}
    if scheme in ("s3", "s3a"):  # tries are counted here alone
        given = fsspec.config.conf.get(scheme, {}).get("config_kwargs", {})
        options["config_kwargs"] = {"retries": {"mode": "standard", "total_max_attempts": 1}, **given}
    system_class = fsspec.get_filesystem_class(scheme)
    system = system_class(**options, **system_class._get_kwargs_from_urls(url))
    if hasattr(system, "retries"):
        system.retries = 1
    return system


def _may_pass(error: Exception) -> bool:
    """Return whether an error comes from the network or the server, so that another attempt may succeed."""
    if isinstance(error, OSError):
        return error.errno not in _LASTING
    # the libraries of stores have errors of their own, some of which do not derive from OSError
    return type(error).__module__.partition(".")[0] in _STORE_LIBRARIES


def _refuse_lasting(error: Exception, where: str, doing: str) -> None:
    """Raise for an error that another try does not mend."""
    code = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code")
    why, kind = redacted(str(error)) or type(error).__name__, type(error).__name__
    missing = isinstance(error, FileNotFoundError)
    if code == "NoSuchBucket" or (missing and "bucket does not exist" in str(error).lower()):
        why = "the bucket does not exist. Make it, or name another; nothing was written"
    elif missing or isinstance(error, IsADirectoryError):
        raise error
    elif isinstance(error, PermissionError):
        why = (
            f"{doing} is not permitted ({why}). Give credentials that may do so, in the environment or in the "
            "store's own configuration"
        )
    elif kind in _NO_CREDENTIALS:
        why = (
            "there are no credentials for this store. Set them as it documents: for s3:// AWS_PROFILE, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_ENDPOINT_URL for a server other than Amazon's); "
            "FSSPEC_... and ~/.config/fsspec work too"
        )
    elif isinstance(error, ImportError) or "Protocol not known" in str(error):
        why = (
            f"this kind of place is not known here, or needs a library ({why}). Expected a folder, s3://, gs:// or "
            f"hf://; s3:// needs an extra. {install_extra('cloud').removesuffix('.')}"
        )
    elif isinstance(error, ValueError | TypeError | NotImplementedError) or kind == "ParamValidationError":
        why = f"{doing} is not possible there ({why})"
    else:
        return
    raise StoreError(f"{where}: {why}.") from None
