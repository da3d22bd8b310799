"""Requests to web servers, and the interpretation of their replies."""

import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPMessage
from io import BytesIO
from urllib.error import HTTPError
from urllib.request import Request

import pytest
from file_server import Faults

from corruptset.errors import ReleaseError
from corruptset.manifests.distribution import download
from corruptset.manifests.distribution.addresses import HttpRemote, Unreachable, _name_errors, _Redirects, remote_of


def redirected(before, after):
    request = Request(before)
    request.add_unredirected_header("Authorization", "Bearer x")
    return _Redirects().redirect_request(request, BytesIO(), 302, "Found", HTTPMessage(), after)


def test_redirects_are_followed_safely():
    for after in ("http://a/x", "http://b/x"):
        with pytest.raises(ReleaseError, match=r"https://a redirects to http://., which is not followed"):
            redirected("https://a/x", after)
    for before, after, credentials in [
        ("https://a/x", "https://a/y", True),
        ("https://a/x", "https://b/x", False),
        ("http://a:80/x", "http://a:81/x", False),
        ("http://a/x", "https://a/x", False),
    ]:
        request = redirected(before, after)
        assert request is not None
        assert (request.full_url, request.has_header("Authorization")) == (after, credentials)


def test_library_errors_are_classified():
    """An invalid waiting time counts as none. An untrusted certificate is not retried."""
    for seconds, wait in (("7", 7.0), ("²", 0.0), ("soon", 0.0)):
        headers = HTTPMessage()
        headers["Retry-After"] = seconds
        with pytest.raises(Unreachable) as exc_info, _name_errors("https://a/x"):
            raise HTTPError("https://a/x", 503, "busy", headers, BytesIO())
        assert exc_info.value.wait == wait
    error = ssl.SSLCertVerificationError(1, "x")
    error.verify_message = "self-signed certificate"
    with pytest.raises(ReleaseError, match="is not trusted"), _name_errors("https://a/x"):
        raise error


def test_addresses_are_parsed(bag, serve, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example/")
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    remote = remote_of("hf://datasets/a/b@refs/pr/1")
    assert isinstance(remote, HttpRemote)
    assert (remote.name, remote._authorization) == ("hf://datasets/a/b@refs/pr/1", "Bearer hf_x")
    assert remote._parts.geturl() == "https://hub.example/datasets/a/b/resolve/refs%2Fpr%2F1"
    server = serve(bag.path)
    for end in ("", "/", "/archives.json", "/archives.json?x=1", "?x=1"):
        remote = remote_of(server.url + end)
        with remote.open("bagit.txt", 5) as reply:
            taken = b"".join(bytes(chunk) for chunk in reply.chunks)
        assert (remote.name, reply.start, taken) == (server.url, 5, (bag.path / "bagit.txt").read_bytes()[5:])
    server.faults = Faults(status={"bagit.txt": [416]})
    with pytest.raises(Unreachable, match="answers 416"), remote.open("bagit.txt", 999):
        pass


OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def endless(begin, repeated, wait_s):
    """Yield the address of a server that sends `begin`, and then `repeated` without end."""
    ended = threading.Event()

    def talk(connection):
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(begin)
            while not ended.wait(wait_s):
                connection.sendall(repeated)

    def listen():
        with suppress(OSError):
            while True:
                threading.Thread(target=talk, args=listener.accept()[:1], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended.set()


@pytest.mark.ci
def test_endless_replies_are_limited(bag, serve, monkeypatch):
    """A server that sends data, but never a byte of the file, times out in the end."""
    monkeypatch.setattr(download, "STALL_TIMEOUT_S", 0.3)
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"

    def ask(begin, repeated):
        with endless(begin, repeated, 0.05) as url, pytest.raises(Unreachable, match=r"no data arrived for 0\.3 s"):
            download.download_small_file(remote_of(url), "archives.json")

    message = ((b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (OK, b"x"), (b"", b"H"), (chunked, b"X: y\r\n"))
    with ThreadPoolExecutor(len(message)) as pool:  # each case takes seconds to time out
        list(pool.map(ask, *zip(*message, strict=True)))
    # the body of a redirect is not read
    target = f"{serve(bag.path).url}/archives.json"
    begin = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode()
    with endless(begin, b"x" * 4096, 0.0) as url, remote_of(url).open("x") as reply:
        assert reply.total == (bag.path / "archives.json").stat().st_size


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("localhost:8765", "http://localhost:8765"),
        ("localhost/x", "http://localhost/x"),
        ("example.org/x", "https://example.org/x"),
        ("example.org", "https://example.org"),
        ("files.example.org:8080/a/b", "http://files.example.org:8080/a/b"),
        ("192.168.0.7:8000", "http://192.168.0.7:8000"),
        ("[::1]:8000/x", "http://[::1]:8000/x"),
        ("gpu-box:8000/x", "http://gpu-box:8000/x"),
        ("//example.org/x", "https://example.org/x"),
    ],
)
def test_address_without_scheme_is_reported(address, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReleaseError) as exc_info:
        remote_of(address)
    message = f"{address} is not a URL, because http:// or https:// is missing in front of it. Did you mean {meant}?"
    assert str(exc_info.value).startswith(message)


def test_local_folder_is_not_parsed_as_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "packed.example").mkdir()
    for address in ("packed.example", "imagenet-c-1.1.0", "./example.org/x", "/data/example.org", "packed", "../x.org"):
        with pytest.raises(ReleaseError, match=rf"{address} is not a URL\. For a release on this machine, .* unpack"):
            remote_of(address)
