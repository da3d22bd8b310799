"""Access object stores (s3://, gs://, ...) with fsspec, and repeat failed requests."""

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
from ...errors import MachineError, ParameterError, ReleaseError, StoreError, install_extra, quote
from ...files import NUL
from .atomic import write_large

MAX_ATTEMPTS = 8
"""Number of attempts before a request fails."""
FIRST_WAIT_S = 0.25
"""Seconds to wait after the first attempt. Each later wait is twice as long. A random part of up to half is subtracted
from each wait. Together, all waits take at most 32 s.
"""
READ_AHEAD = 8 << 20
"""Bytes per request when an object is read in pieces."""

_URL = re.compile(r"([a-z][a-z0-9+-]+):/+(.*)", re.DOTALL)
_SECRET = re.compile(r"SECRET|TOKEN|PASSWORD|CREDENTIAL|ACCESS_KEY|ACCOUNT_KEY|API_KEY")
_LASTING = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENFILE")} - {None}
"""Errors of this machine that would occur again in another attempt."""
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
    """Convert text to the URL of an object store, or return None if the text is a local path.

    A URL that was converted to a `pathlib.Path`, and therefore lost a slash, is recognised as well.

    Raises
    ------
    StoreError
        The URL contains a user name, a password or a signature.
    ParameterError
        The text contains a NUL character.

    Examples
    --------
    >>> url_of("s3://bucket/sets/"), url_of(Path("gs:/bucket/sets")), url_of("sets/c")
    ('s3://bucket/sets', 'gs://bucket/sets', None)
    """
    if not isinstance(text, str | os.PathLike):
        raise ParameterError(f"The path is {quote(text)}, but a string or a path is expected.")
    if "\0" in os.fspath(text):
        raise ParameterError(f"The path {os.fspath(text)!r} cannot be used: {NUL}.")
    match = _URL.fullmatch(os.fspath(text))
    if match is None:
        return None
    scheme, rest = match.groups()
    if "@" in rest.partition("/")[0] or "?" in rest:
        raise StoreError(
            f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}: URLs with a user name, a password or a signature "
            "are not accepted, because they would end up in logs. Give the plain URL, and credentials in the "
            "environment or in the configuration of the store."
        )
    return f"{scheme}://{'/' if scheme == 'file' else ''}{rest.rstrip('/')}"


def local_folder(path: str | os.PathLike[str], what: str) -> Path:
    """Convert a path to a local folder. `what` is the beginning of the sentence in the error message.

    Raises
    ------
    StoreError
        The path is a URL, or a link to itself.

    Examples
    --------
    >>> local_folder("s3://bucket/sets", "builds are written to")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    corruptset.errors.StoreError: s3://bucket/sets: builds are written to a local folder. To upload ...
    """
    if (url := url_of(path)) is not None:
        raise StoreError(
            f"{url}: {what} a local folder. To upload a dataset to a store, use `corruptset pack` and `corruptset "
            "publish`. To download one, use `corruptset fetch`."
        )
    try:
        os.stat(path)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise StoreError(f"{os.fspath(path)} is a link that leads to itself. Choose another folder.") from None
    return Path(path)


def data_folder(directory: str | os.PathLike[str]) -> Path:
    """Return the folder of a dataset to read, or raise `StoreError` for a URL."""
    return local_folder(directory, "datasets are read from")


def redact(text: str) -> str:
    """Return text with asterisks in place of passwords, queries in URLs and secrets from the environment.

    Examples
    --------
    >>> redact('no answer from "https://me:word@host/key?X-Amz-Signature=0f"')
    'no answer from "https://***@host/key?***"'
    """
    text = re.sub(r"//[^/@\s]+@", "//***@", text)
    text = re.sub(r"(//[^\s\"'?]+\?)[^\s\"']+", r"\1***", text)
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name.upper()):
            text = text.replace(value, "***")
    return text


class Reply(NamedTuple):
    """The bytes of a file from `start` on, as a server sends them."""

    start: int
    """The offset of the first byte. It is 0 if the server sends the whole file although only a part was requested."""
    total: int | None
    """Size of the whole file in bytes, if the server states it."""
    chunks: Iterator[bytes]


class Store:
    """A folder in an object store. Instances can be pickled, and used in forked processes.

    The methods raise `StoreError` if the bucket does not exist, access is denied or credentials are missing, and
    `MachineError` if `MAX_ATTEMPTS` consecutive attempts fail.
    """

    def __init__(self, url: str) -> None:
        self.name = url
        self._s3 = url.startswith("s3")

    def pieces(self, path: str, start: int, size: int) -> Iterator[bytes]:
        """Yield the bytes of an object from the offset `start` on, or raise `FileNotFoundError`.

        `size` is the size of the object in bytes.
        """
        for at in range(start, size, READ_AHEAD):
            yield self._read(path, at, min(at + READ_AHEAD, size))

    def _read(self, path: str, start: int, end: int) -> bytes:
        options = {"max_concurrency": 1} if self._s3 else {}  # otherwise s3fs asks for the size first
        data: bytes = self._tried("reading", path, lambda fs, url: fs.cat_file(url, start=start, end=end, **options))
        return data

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Reply]:
        """Open an object at a byte offset, or raise `ReleaseError` if it does not exist."""
        found = self.version(path)
        if found is None:
            raise ReleaseError(
                f"{self.name}/{path} does not exist. The address must be that of the folder of a release."
            )
        yield Reply(start, found[0], self.pieces(path, start, found[0]))

    def kept_sha256(self, path: str) -> str | None:
        """Return the sha256 that is stored in the metadata of an object, or None."""
        kept = self._s3 and self._tried("looking at", path, lambda fs, url: fs.metadata(url).get("sha256"))
        return f"sha256:{kept}" if kept else None

    def versions(self) -> dict[str, tuple[int, str]]:
        """Return a mapping from the paths of all objects to their sizes and versions, sorted by path."""
        found = self._tried("listing", "", lambda fs, url: (fs.find(url, detail=True), fs._strip_protocol(url)))
        objects, top = found
        named = {name[len(top) + 1 :]: info for name, info in objects.items() if name.startswith(f"{top}/")}
        # programs that show a store as folders create empty objects whose names end with a slash
        return {path: _version(named[path]) for path in sorted(named) if path and not path.endswith("/")}

    def version(self, path: str) -> tuple[int, str] | None:
        """Return the size and version of an object, or None if it does not exist."""
        try:
            info = self._tried("looking at", path, lambda fs, url: fs.info(url))
        except FileNotFoundError:
            return None
        return _version(info) if info["type"] == "file" else None

    def fetch(self, path: str, target: Path, size: int) -> None:
        """Download an object of `size` bytes atomically."""
        target.parent.mkdir(parents=True, exist_ok=True)
        write_large(target, self.pieces(path, 0, size))

    def put(self, path: str, data: bytes | Path, sha256: str, sent: Callable[[int], None]) -> None:
        """Upload an object atomically, in several parts if it is large.

        On S3 its sha256 is stored in its metadata. `sent` is called with the number of bytes of a local file that have
        been sent so far.
        """
        options: dict[str, Any] = {"Metadata": {"sha256": digits(sha256)}} if self._s3 else {}

        def write(fs: Any, url: str) -> None:
            from fsspec.callbacks import Callback

            if isinstance(data, bytes):
                fs.pipe_file(url, data, **options)
            else:
                callback = Callback(hooks={"sent": lambda size, value: sent(value)})
                fs.put_file(os.fspath(data), url, callback=callback, **options)

        self._tried("writing", path, write)

    def _tried(self, doing: str, path: str, call: Callable[[Any, str], Any]) -> Any:
        url = f"{self.name}/{path}" if path else self.name
        for attempt in range(MAX_ATTEMPTS):
            try:
                return call(_filesystem(self.name), url)
            except Exception as e:
                _refuse_lasting(e, url, doing)
                if not _may_pass(e):
                    raise
                if attempt + 1 == MAX_ATTEMPTS:
                    reason = redact(f"{type(e).__name__}: {e}")
                    raise MachineError(
                        f"{self.name}: {doing} {path or 'it'} failed {MAX_ATTEMPTS} times in a row ({reason}). "
                        "Completed transfers are kept. To resume, run the same command again when the store answers."
                    ) from None
            time.sleep(FIRST_WAIT_S * 2**attempt * random.uniform(0.5, 1.0))
        return None


def _version(info: Mapping[str, Any]) -> tuple[int, str]:
    names = ("ETag", "etag", "md5Hash", "LastModified", "updated", "mtime", "created")
    return int(info["size"]), next((str(info[name]) for name in names if name in info), "")


def _filesystem(url: str) -> Any:
    """Return the fsspec file system of a URL, with the user's fsspec configuration."""
    import fsspec

    scheme = url.partition("://")[0]
    options: dict[str, Any] = {"use_listings_cache": False}
    if scheme in ("s3", "s3a"):  # no retries by the library, because `Store._tried` repeats requests
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
    # the client libraries of stores also raise errors that do not derive from OSError
    return type(error).__module__.partition(".")[0] in _STORE_LIBRARIES


def _refuse_lasting(error: Exception, where: str, doing: str) -> None:
    """Raise `StoreError` for an error that would occur again in another attempt."""
    code = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code")
    why, kind = redact(str(error)) or type(error).__name__, type(error).__name__
    missing = isinstance(error, FileNotFoundError)
    if code == "NoSuchBucket" or (missing and "bucket does not exist" in str(error).lower()):
        why = "the bucket does not exist, so nothing was written. Create it, or choose another one"
    elif missing or isinstance(error, IsADirectoryError):
        raise error
    elif isinstance(error, PermissionError):
        why = (
            f"{doing} is not permitted ({why}). Provide credentials with this permission in the environment or in the "
            "configuration of the store"
        )
    elif kind in _NO_CREDENTIALS:
        why = (
            "there are no credentials for this store. For s3://, set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY (and AWS_ENDPOINT_URL for a server other than Amazon's). For other stores, see "
            "their documentation. The configuration of fsspec (FSSPEC_..., ~/.config/fsspec) is also used"
        )
    elif isinstance(error, ImportError) or "Protocol not known" in str(error):
        why = (
            f"this kind of address is not known, or needs a library ({why}). Use a folder, s3://, gs:// or hf://. For "
            f"s3://, an extra is needed. {install_extra('cloud').removesuffix('.')}"
        )
    elif isinstance(error, ValueError | TypeError | NotImplementedError) or kind == "ParamValidationError":
        why = f"{doing} is not possible ({why})"
    else:
        return
    raise StoreError(f"{where}: {why}.") from None
