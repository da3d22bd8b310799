"""A stand-in for the Hugging Face hub on the loopback: the calls of its HTTP interface that its library makes to
publish a data set.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

TOKEN = "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"
LARGE = (".tar", ".png")
"""Suffixes that the hub keeps as large files."""


@dataclass
class Repository:
    """A data set: commits of files, path -> bytes; which of them are large."""

    private: bool
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{".gitattributes": b"*.tar filter=lfs\n"}])


class HubHandler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, value: Any, status: int = 200, **headers: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for key, text in {**headers, "Content-Length": str(len(data)), "Content-Type": "application/json"}.items():
            self.send_header(key.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def _repository(self, name: str) -> Repository | None:
        found = self.server.repositories.get(name)
        if found is None or (found.private and not self._known()):
            self._answer({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")
            return None
        return found

    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        self.server.asked.append(("GET", path))
        if path.startswith("/api/datasets/") and "/tree/" in path:
            if (found := self._repository(path.removeprefix("/api/datasets/").partition("/tree/")[0])) is not None:
                self._answer([_entry(name, data) for name, data in found.commits[-1].items()])
        elif "/resolve/" in path:
            name, _, file = path.removeprefix("/datasets/").partition("/resolve/main/")
            if (found := self._repository(name)) is not None:
                data = found.commits[-1].get(file)
                self._answer(b"", 404) if data is None else self._answer(
                    data, ETag=f'"{hashlib.sha256(data).hexdigest()}"'
                )
        else:
            self._answer({"error": f"no such call: {path}"}, 404)

    def do_PUT(self) -> None:
        digest, data = self.path.rpartition("/")[2], self._body()
        self.server.asked.append(("PUT", digest))
        if (
            self.server.fails_after is not None
            and sum(method == "PUT" for method, _ in self.server.asked) > self.server.fails_after
        ):
            return self._answer({"error": "out of order"}, 403)
        assert hashlib.sha256(data).hexdigest() == digest
        self.server.large[digest] = data
        return self._answer(b"")

    def do_POST(self) -> None:
        path, body = self.path.partition("?")[0], self._body()
        self.server.asked.append(("POST", path))
        if not self._known():
            return self._answer({"error": "Invalid username or password."}, 401)
        if path == "/api/repos/create":
            given = json.loads(body)
            assert given["type"] == "dataset"
            name = f"{given['organization']}/{given['name']}" if given.get("organization") else given["name"]
            if name in self.server.repositories:
                return self._answer(
                    {"error": "You already created this dataset repo", "url": f"{self.server.url}/datasets/{name}"}, 409
                )
            self.server.repositories[name] = Repository(
                given.get("visibility") == "private" or given.get("private") is True
            )
            return self._answer({"url": f"{self.server.url}/datasets/{name}", "name": name})
        if path == "/api/validate-yaml":
            import yaml  # which the hub's library brings

            head = yaml.safe_load(json.loads(body)["content"].split("---\n")[1])
            assert {"license", "pretty_name", "task_categories", "configs"} <= set(head)
            return self._answer({"errors": [], "warnings": []})
        name = path.removeprefix("/api/datasets/").removeprefix("/datasets/")
        for call in ("/preupload/main", ".git/info/lfs/objects/batch", "/commit/main"):
            if name.endswith(call):
                found = self._repository(name.removesuffix(call))
                if found is not None:
                    {"/p": self._preupload, ".g": self._batch, "/c": self._commit}[call[:2]](found, body)
                return None
        return self._answer({"error": f"no such call: {path}"}, 404)

    def _preupload(self, found: Repository, body: bytes) -> None:
        files = json.loads(body)["files"]
        modes = [
            {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(LARGE) else "regular", "shouldIgnore": False}
            for f in files
        ]
        self._answer({"files": modes})

    def _batch(self, found: Repository, body: bytes) -> None:
        objects = []
        for wanted in json.loads(body)["objects"]:
            upload = {"actions": {"upload": {"href": f"{self.server.url}/large/{wanted['oid']}"}}}
            objects.append({**wanted, **({} if wanted["oid"] in self.server.large else upload)})
        self._answer({"transfer": "basic", "objects": objects})

    def _commit(self, found: Repository, body: bytes) -> None:
        files = dict(found.commits[-1])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
        found.commits.append(files)
        name = self.path.removeprefix("/api/").partition("/commit/")[0]
        self._answer(
            {"commitUrl": f"{self.server.url}/{name}/commit/{'1' * 40}", "commitOid": "1" * 40, "success": True}
        )


def _entry(path: str, data: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    entry = {"type": "file", "path": path, "size": len(data), "oid": blob}
    if path.endswith(LARGE):
        entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return entry


class HubServer(ThreadingHTTPServer):
    """The hub; `fails_after` uploads of large files, the next ones fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.repositories: dict[str, Repository] = {}
        self.large: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.fails_after: int | None = None
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def hub() -> Iterator[HubServer]:
    """Yield a running hub."""
    server = HubServer()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
