"""Files of a release that are read from the network, from any byte on: over HTTP by the standard library, from stores."""

from __future__ import annotations

import base64
import http.client
import os
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from ...errors import MachineError, ReleaseError
from ..disk.remote import Store, url_of
from ..release.archives import CHUNK
from ..release.release_index import INDEX
from .places import SCHEME, hub_address

SILENCE_S = 60.0
"""How long a server may say nothing before the connection counts as cut."""
HEADER_CAP = 1 << 16
"""Bytes of a reply's header, with every ``100 Continue`` before it."""
HEADER_S = 60.0
"""How long a header may take to arrive."""
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class Unreachable(MachineError):
    """A server that does not answer, fails or cuts the connection: the same request may succeed later, after `wait` seconds.

    `beyond` says that it has fewer bytes of a file than it was asked to skip.
    """

    def __init__(self, message: str, *, wait: float = 0.0, beyond: bool = False) -> None:
        super().__init__(message)
        self.wait, self.beyond = wait, beyond


@dataclass(frozen=True)
class Reply:
    """The bytes of a file from `start` on.

    Attributes
    ----------
    chunks : iterator of bytes or memoryview
        To be used before the next one is asked for.
    start : int
        0 where the server gives the whole file, whatever was asked for.
    total : int or None
        Bytes of the whole file, where the server says it.
    version : str or None
        Changes when the file does: an ETag, or a date.
    """

    chunks: Iterator[bytes | memoryview]
    start: int
    total: int | None
    version: str | None


class Remote(Protocol):
    """A release at some address."""

    name: str
    """For messages: without passwords and queries."""

    def open(self, path: str, start: int = 0, version: str | None = None) -> AbstractContextManager[Reply]:
        """Open a file of the release at a byte; if it is another version, at its beginning.

        Raises
        ------
        Unreachable
            Another try may succeed.
        ReleaseError
            The file is not there, or may not be read.
        """


def remote_of(address: str) -> Remote:
    """Return the release at a URL: that of its folder or of its archives.json.

    Raises
    ------
    ReleaseError
        It is no URL, or one of a kind that cannot be read.
    """
    scheme = address.partition("://")[0].lower() if "://" in address else None
    if scheme is None:
        raise ReleaseError(f"{address} is no URL. Of a release on this machine, name its folder: corruptset unpack {address} --out DIR")
    if address.startswith(SCHEME):
        return HttpRemote(hub_address(address).files, token=_hub_token(), name=address)
    return HttpRemote(address) if scheme in ("http", "https") else StoreRemote(address)


def _hub_token() -> str | None:
    """Return the token that the hub's own tools use, if there is one."""
    try:
        from huggingface_hub import get_token
    except ImportError:
        return os.environ.get("HF_TOKEN") or None
    token: str | None = get_token()
    return token


class HttpRemote:
    """A release on a web server."""

    def __init__(self, url: str, *, token: str | None = None, name: str | None = None) -> None:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        path = parts.path.removesuffix(f"/{INDEX}").rstrip("/")
        self.name = name or urlunsplit((parts.scheme, host, path, "", ""))
        self._parts = parts._replace(netloc=host, path=path, fragment="")
        self._opener = build_opener(_Redirects, _Limited)
        self._authorization = f"Bearer {token}" if token else None
        if parts.username is not None:
            password = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._authorization = f"Basic {base64.b64encode(password.encode()).decode()}"

    @contextmanager
    def open(self, path: str, start: int = 0, version: str | None = None) -> Iterator[Reply]:
        """Open a file at a byte: ``Range``, with ``If-Range`` so that a changed file is found."""
        where = f"{self.name}/{path}"
        request = Request(urlunsplit(self._parts._replace(path=f"{self._parts.path}/{quote(path)}")))
        # compressed on the way, a file would have other bytes and no ranges
        request.add_header("Accept-Encoding", "identity")
        request.add_header("User-Agent", "corruptset")
        if start:
            request.add_header("Range", f"bytes={start}-")
            if version is not None:
                request.add_header("If-Range", version)
        if self._authorization is not None:
            request.add_unredirected_header("Authorization", self._authorization)
        with _named(where):
            response = self._opener.open(request, timeout=SILENCE_S)
        with response:
            yield _reply(response, where)


def _reply(response: Any, where: str) -> Reply:
    headers, chunks = response.headers, _chunks(response, where)
    if headers.get("Content-Encoding", "identity") != "identity":
        raise ReleaseError(f"{where} is sent compressed, though it was asked for as it is: this server cannot be used.")
    tag = headers.get("ETag")
    # a weak tag may stay when bytes change
    version = tag if tag is not None and not tag.startswith("W/") else headers.get("Last-Modified")
    if response.status == 206:
        match = _RANGE.fullmatch(headers.get("Content-Range", ""))
        if match is None:
            raise Unreachable(f"{where}: the server answers with a part and does not say which")
        return Reply(chunks, int(match[1]), int(match[2]), version)
    length = headers.get("Content-Length", "")
    return Reply(chunks, 0, int(length) if length.isascii() and length.isdigit() else None, version)


def _chunks(response: Any, where: str) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(CHUNK))
    with _named(where):
        while count := response.readinto(buffer):
            yield buffer[:count]


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Turn what the standard library raises into errors that say where, and whether another try may succeed."""
    try:
        yield
    except HTTPError as e:
        raise _status_error(e, where) from None
    except (URLError, OSError, http.client.HTTPException) as e:
        reason = e.reason if isinstance(e, URLError) else e
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise ReleaseError(
                f"{where}: the server's certificate is not trusted ({reason.verify_message}). Nothing was taken from it."
            ) from None
        raise Unreachable(f"{where}: {str(reason) or type(reason).__name__}") from None
    except ValueError as e:  # of an address that a server redirects to
        raise ReleaseError(f"{where} is redirected to what is no web address ({e}). Check the address.") from None


def _status_error(error: HTTPError, where: str) -> Exception:
    code = error.code
    error.close()
    if code in _AGAIN or code == 416:  # the file became shorter than what is here of it
        wait = error.headers.get("Retry-After", "")
        seconds = float(wait) if wait.isascii() and wait.isdigit() else 0.0
        return Unreachable(f"{where}: the server answers {code}", wait=seconds, beyond=code == 416)
    if code in (404, 410):
        return ReleaseError(f"{where} is not there (the server answers {code}). Check the address: it is that of the folder with {INDEX}.")
    if code in (401, 403):
        return ReleaseError(
            f"{where} may not be read (the server answers {code}). A private data set of the hub needs a token in HF_TOKEN."
        )
    if 300 <= code < 400:
        return ReleaseError(f"{where} is redirected without end, or to what is no web address. Check the address.")
    return ReleaseError(f"{where} cannot be read (the server answers {code}).")


class _HeaderLines:
    """The lines of a reply's header, as many and for as long as is allowed; the standard library limits each alone."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left, self._end = file, HEADER_CAP, time.monotonic() + HEADER_S
        self.close = file.close

    def readline(self, size: int) -> bytes:
        line = bytearray()
        while len(line) < size and (byte := self._file.read(1)):
            line += byte
            self._left -= 1
            if self._left < 0 or time.monotonic() > self._end:
                limits = f"more than {HEADER_CAP} bytes, or takes more than {HEADER_S:g} s"
                raise http.client.HTTPException(f"the header has {limits}")
            if byte == b"\n":
                break
        return bytes(line)


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        file, self.fp = self.fp, _HeaderLines(self.fp)  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            self.fp = self.fp and file

    def _read_and_discard_trailer(self) -> None:
        """Leave what follows the last chunk unread: it may be endless, and no connection is used twice."""


class _Limited(HTTPHandler, HTTPSHandler):
    def do_open(self, http_class: Any, req: Request, **options: Any) -> Any:
        def connection(*args: Any, **kwargs: Any) -> http.client.HTTPConnection:
            made: http.client.HTTPConnection = http_class(*args, **kwargs)
            made.response_class = _Response
            return made

        return super().do_open(connection, req, **options)


class _Redirects(HTTPRedirectHandler):
    """Follows redirects, but from https to https only, and takes credentials to the same host only."""

    def http_error_302(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage) -> Any:
        """Close a reply whose address cannot be read."""
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError:
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if before.scheme == "https" and after.scheme != "https":
            raise ReleaseError(
                f"{before.scheme}://{before.hostname} redirects to {after.scheme}://{after.hostname}, which is not followed."
            )
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        fp.close()  # else its body is read to the end, which may never come
        secret = req.unredirected_hdrs.get("Authorization")
        if request is not None and secret is not None and (before.scheme, before.netloc) == (after.scheme, after.netloc):
            request.add_unredirected_header("Authorization", secret)
        return request


class StoreRemote:
    """A release in an object store."""

    def __init__(self, url: str) -> None:
        self.name = (url_of(url) or url).removesuffix(f"/{INDEX}")
        self._store = Store(self.name)

    @contextmanager
    def open(self, path: str, start: int = 0, version: str | None = None) -> Iterator[Reply]:
        """Open an object at a byte."""
        found = self._store.version(path)
        if found is None:
            raise ReleaseError(f"{self.name}/{path} is not there. Check the address: it is that of the folder with {INDEX}.")
        total, now = found
        start = start if now == version else 0
        yield Reply(self._pieces(path, start, total), start, total, now or None)

    def _pieces(self, path: str, start: int, total: int) -> Iterator[bytes]:
        try:
            yield from self._store.pieces(path, start, total)
        except FileNotFoundError:
            raise Unreachable(f"{self.name}/{path} was removed while it was read") from None
