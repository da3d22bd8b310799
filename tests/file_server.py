"""A local web server that serves a folder with support for ranges, and can simulate faults."""

import re
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class Faults:
    """Faults by name of a file. Each request consumes one entry of a list."""

    ranges: bool = True
    cut: dict[str, list[int]] = field(default_factory=dict)
    """The number of bytes after which the connection is closed."""
    status: dict[str, list[int]] = field(default_factory=dict)
    length: dict[str, int | str | None] = field(default_factory=dict)
    """The value of `Content-Length`, or None to omit the header."""
    span: dict[str, str] = field(default_factory=dict)
    """The value of `Content-Range`."""
    wait: str = "0"
    """The value of `Retry-After`."""
    content: dict[str, list[bytes]] = field(default_factory=dict)
    """Replacements of the content. The last entry is used for all further requests."""
    redirect: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A request for a file."""

    name: str
    first: int
    authorization: str | None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        asked_path = unquote(self.path.partition("?")[0])
        faults, name = self.server.faults, asked_path.rpartition("/")[2]
        path = self.server.root / asked_path.lstrip("/")
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(match[1]) if match else 0
        with self.server.lock:
            self.server.asked.append(Request(name, first, self.headers.get("Authorization")))
            status = (faults.status.get(name) or [0]).pop(0)
            limit = (faults.cut.get(name) or [-1]).pop(0)
            contents = faults.content.get(name, [])
            content = contents.pop(0) if len(contents) > 1 else contents[0] if contents else None
        if name in faults.redirect:
            return self._end(302, {"Location": faults.redirect[name]})
        if status or (content is None and not path.is_file()):
            return self._end(status or 404, {"Retry-After": faults.wait})
        data = content if content is not None else path.read_bytes()
        if first >= len(data) > 0 and faults.ranges:
            return self._end(416, {})
        if not faults.ranges:
            first, match = 0, None
        headers = {}
        if match:
            headers["Content-Range"] = faults.span.get(name, f"bytes {first}-{len(data) - 1}/{len(data)}")
        length = faults.length.get(name, len(data) - first)
        if length is not None:
            headers["Content-Length"] = str(length)
        self.send_response(206 if match else 200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data[first : len(data) if limit < 0 else first + limit])
        self.close_connection = self.close_connection or limit >= 0 or name in faults.length
        return None

    def _end(self, status, headers):
        self.send_response(status)
        for key, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(key, value)
        self.end_headers()


class FileServer(ThreadingHTTPServer):
    """Serve the files below `root`. The attribute `asked` lists the requests."""

    daemon_threads = True

    def __init__(self, root):
        super().__init__(("127.0.0.1", 0), Handler)
        self.root, self.faults = root, Faults()
        self.asked = []
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def times(self):
        """Return the number of requests by name of the file."""
        return dict(Counter(request.name for request in self.asked))

    def handle_error(self, request, client_address):
        """Ignore closed connections."""


@contextmanager
def serve_folder():
    """Yield a function that serves a folder until the end of the block."""
    servers = []

    def serve(root):
        server = FileServer(root)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()
