"""A local S3 server (moto) behind a proxy that counts requests and simulates faults."""

import http.client
import logging
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from joblib.externals.loky import get_reusable_executor

KEY, SECRET = "key-id-of-the-tests", "secret-word-of-the-tests"
Fault = Callable[[int, str, str], str | None]
"""Function of the request number, method and path that returns a fault (``cut``, ``cut half`` or ``503``) or None."""


class Proxy(ThreadingHTTPServer):
    """A proxy that forwards requests."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = port
        self.lock = threading.Lock()
        self.reset()

    def reset(self, fault=None):
        """Restart the count, with new faults."""
        with self.lock:
            self.fault = fault or (lambda *request: None)
            self.requests = []
            self.done = Counter()

    def handle_error(self, *_):
        """Ignore closed connections."""


def _without(headers, *names):
    return {name: value for name, value in headers.items() if name.lower() not in names}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Print nothing."""

    def _hand_on(self):
        body = self._body()
        with self.server.lock:
            self.server.requests.append((self.command, self.path))
            number = len(self.server.requests)
        fault = self.server.fault(number, self.command, self.path)
        with self.server.lock:
            self.server.done[fault or ""] += 1
        if fault == "cut":
            return self._cut()
        if fault == "503":
            return self._answer(
                503, {}, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
            )
        connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=30)
        headers = _without(self.headers, "expect", "transfer-encoding", "content-length")
        connection.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
        response = connection.getresponse()
        data = response.read()
        headers = _without(response.headers, "connection", "transfer-encoding")
        connection.close()
        return self._answer(response.status, headers, data, half=fault == "cut half")

    def _body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status, headers, data, *, half=False):
        self.send_response_only(status)
        if self.command != "HEAD":
            headers["Content-Length"] = str(len(data))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if half else data)
        if half:
            self._cut()

    def _cut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _hand_on


@contextmanager
def s3():
    """Start the server and the proxy, and set the environment so that fsspec and commands find them."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    proxy = Proxy(server.get_host_and_port()[1])
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_address[1]}")
        get_reusable_executor().shutdown(wait=True)  # workers of earlier tests have an older environment
        try:
            yield proxy
        finally:
            get_reusable_executor().shutdown(wait=True)
            proxy.shutdown()
            proxy.server_close()
            server.stop()
            import fsspec

            fsspec.get_filesystem_class("s3").clear_instance_cache()


def create_bucket(name):
    """Create a bucket, and return its file system."""
    import s3fs

    system = s3fs.S3FileSystem(use_listings_cache=False)
    system.mkdir(name)
    return system
