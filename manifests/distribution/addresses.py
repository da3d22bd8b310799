"""Parse the addresses of releases, and read the files of releases from web servers."""

from __future__ import annotations

import base64
import http.client
import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ...errors import MachineError, ReleaseError
from ..disk.remote import Reply, Store, url_of
from ..release.archives import CHUNK
from ..release.bag import INDEX

SILENCE_S = 60.0
"""Seconds without data after which a connection is closed."""
HUB = "hf://"
_TEMPORARY_STATUS = (408, 416, 425, 429, 500, 502, 503, 504)


class Unreachable(MachineError):
    """A server fails or does not answer. Another attempt may succeed after `wait` seconds."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


HOST = re.compile(
    r"(?:https?:?/{0,2}|//)?(?P<rest>(?P<host>localhost|\[[0-9a-f:.]+\]|\d+(?:\.\d+){3}|(?:[\w-]+\.)+[a-z]{2,}|[\w.-]+(?=:\d))"
    r"(?P<port>:\d+)?(?:[/?].*)?)",
    re.IGNORECASE,
)
"""Pattern of a web address whose scheme is missing or misspelt."""


def hub_address(url: str) -> tuple[str, str]:
    """Return the repository and revision of ``hf://datasets/USER/NAME[@REVISION]``, or raise `ReleaseError`.

    Examples
    --------
    >>> hub_address("hf://datasets/someone/imagenet-c@v1")
    ('someone/imagenet-c', 'v1')
    """
    match = re.fullmatch(r"hf://datasets/([\w.-]+/[\w.-]+)(?:@([\w./-]+?))?/?", url)
    if match is None:
        raise ReleaseError(f"{url} is not hf://datasets/USER/NAME, or hf://datasets/USER/NAME@REVISION.")
    return match[1], match[2] or "main"


def hub_files(url: str) -> str:
    """Return the URL of the folder with the files of a dataset on the Hub."""
    repository, revision = hub_address(url)
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    return f"{endpoint}/datasets/{repository}/resolve/{quote(revision, safe='')}"


def remote_of(address: str) -> HttpRemote | Store:
    """Return the release at a URL, which is the URL of the release's folder or of its archives.json."""
    if "://" not in address:
        local = f"For a release on this machine, use its folder: corruptset unpack {address} --out DIR"
        web = HOST.fullmatch(address)
        if web is None or os.path.lexists(address):
            raise ReleaseError(f"{address} is not a URL. {local}")
        scheme = "http" if web["port"] or re.fullmatch(r"localhost|[\d.]+|\[.*\]", web["host"]) else "https"
        raise ReleaseError(
            f"{address} is not a URL, because http:// or https:// is missing in front of it. Did you mean "
            f"{scheme}://{web['rest']}? {local}"
        )
    if address.startswith(HUB):
        try:
            from huggingface_hub import get_token
        except ImportError:
            return HttpRemote(hub_files(address), token=os.environ.get("HF_TOKEN"), name=address)
        return HttpRemote(hub_files(address), token=get_token(), name=address)
    if address.partition("://")[0].lower() in ("http", "https"):
        return HttpRemote(address)
    return Store((url_of(address) or address).removesuffix(f"/{INDEX}"))


class HttpRemote:
    """A release on a web server. Its `name` contains neither a password nor a query."""

    def __init__(self, url: str, *, token: str | None = None, name: str | None = None) -> None:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        self._parts = parts._replace(netloc=host, path=parts.path.removesuffix(f"/{INDEX}").rstrip("/"), fragment="")
        self.name = name or self._parts._replace(query="").geturl()
        self._opener = build_opener(_Redirects)
        self._authorization = f"Bearer {token}" if token else None
        if parts.username is not None:
            password = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._authorization = f"Basic {base64.b64encode(password.encode()).decode()}"

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Reply]:
        """Open a file at a byte offset.

        Raises
        ------
        Unreachable
            The request failed, but another attempt may succeed.
        ReleaseError
            The file does not exist, or access is denied.
        """
        where = f"{self.name}/{path}"
        # with compression, the server would send different bytes and could not send ranges
        headers = {"Accept-Encoding": "identity", "User-Agent": "corruptset"}
        url = urlunsplit(self._parts._replace(path=f"{self._parts.path}/{quote(path)}"))
        request = Request(url, headers={**headers, "Range": f"bytes={start}-"} if start else headers)
        if self._authorization is not None:
            request.add_unredirected_header("Authorization", self._authorization)
        with _name_errors(where):
            response = self._opener.open(request, timeout=SILENCE_S)
        with response:
            span = re.fullmatch(
                r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})", response.headers.get("Content-Range", "")
            )
            if response.status == 206 and span is None:
                raise Unreachable(f"{where}: the server answers with a part without stating its position")
            first, total = (int(span[1]), int(span[2])) if span else (0, _number(response, "Content-Length"))
            yield Reply(first, total, _chunks(response, where))


def _number(response: Any, header: str) -> int | None:
    """Return the number in a header, or None if it is missing or too large."""
    text = response.headers.get(header, "")
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _chunks(response: Any, where: str) -> Iterator[bytes]:
    with _name_errors(where):
        while chunk := response.read(CHUNK):
            yield chunk


@contextmanager
def _name_errors(where: str) -> Iterator[None]:
    """Convert errors of the standard library into `Unreachable` or `ReleaseError`, whose messages name the address."""
    try:
        yield
    except HTTPError as e:
        e.close()
        if e.code in _TEMPORARY_STATUS:
            wait = _number(e, "Retry-After") or 0
            raise Unreachable(f"{where}: the server answers {e.code}", wait=wait) from None
        raise ReleaseError(
            f"{where} cannot be read: the server answers {e.code} ({e.reason}). The address must be that of the "
            f"folder with {INDEX}. A private dataset on the Hub needs a token in HF_TOKEN."
        ) from None
    except (URLError, OSError, http.client.HTTPException) as e:
        reason = e.reason if isinstance(e, URLError) else e
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise ReleaseError(
                f"{where}: the server's certificate is not trusted ({reason.verify_message}). Nothing was downloaded."
            ) from None
        raise Unreachable(f"{where}: {str(reason) or type(reason).__name__}") from None
    except ValueError as e:  # the server redirects to an invalid address
        raise ReleaseError(f"{where} is redirected to an invalid web address ({e}). Check the address.") from None


class _Redirects(HTTPRedirectHandler):
    """A handler that follows redirects, except from https to http, and sends credentials only to the same host."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        fp.close()  # otherwise the body of the response would be read to its end, which may never come
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if before.scheme == "https" and after.scheme != "https":
            raise ReleaseError(
                f"https://{before.hostname} redirects to {after.scheme}://{after.hostname}, which is not followed."
            )
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        secret = req.unredirected_hdrs.get("Authorization")
        if request is not None and secret is not None and before[:2] == after[:2]:
            request.add_unredirected_header("Authorization", secret)
        return request
