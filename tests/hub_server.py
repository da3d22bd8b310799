"""A local replacement for the Hugging Face Hub, with the part of its HTTP interface that publishing a dataset needs."""

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

TOKEN = "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"
LARGE = (".tar", ".png")
"""Suffixes of files that the Hub stores as large files."""


@dataclass
class Repository:
    """A repository of a dataset. Each commit maps paths to bytes."""

    private: bool
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{".gitattributes": b"*.tar filter=lfs\n"}])


class HubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, value, status=200, **headers):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for key, text in {**headers, "Content-Length": str(len(data)), "Content-Type": "application/json"}.items():
            self.send_header(key.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def _called(self, method):
        """Record a request, and return its path and body."""
        path = unquote(self.path.partition("?")[0])
        self.server.asked.append((method, path))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        while self.headers.get("Transfer-Encoding") == "chunked":
            size = int(self.rfile.readline(), 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                break
        return path, body

    def _repository(self, name):
        repository, token = self.server.repositories.get(name), self.headers.get("Authorization")
        if repository is None or (repository.private and token != f"Bearer {TOKEN}"):
            self._answer({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")
            return None
        return repository

    def do_GET(self):
        path, _ = self._called("GET")
        name, _, file = path.removeprefix("/api").removeprefix("/datasets/").partition("/resolve/main/")
        if (repository := self._repository(name.partition("/tree/")[0])) is None:
            return
        if not file:
            self._answer([_entry(name, data) for name, data in repository.commits[-1].items()])
        else:
            data = repository.commits[-1].get(file)
            self._answer(data or b"", 404 if data is None else 200)

    def do_PUT(self):
        path, data = self._called("PUT")
        digest = path.rpartition("/")[2]
        max_puts, puts = self.server.fails_after, [method for method, _ in self.server.asked].count("PUT")
        if max_puts is not None and puts > max_puts:
            return self._answer({"error": "out of order"}, 403)
        assert hashlib.sha256(data).hexdigest() == digest
        self.server.large[digest] = data
        return self._answer(b"")

    def do_POST(self):
        path, body = self._called("POST")
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer({"error": "Invalid username or password."}, 401)
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path == "/api/validate-yaml":
            import yaml  # a dependency of huggingface_hub

            head = yaml.safe_load(json.loads(body)["content"].split("---\n")[1])
            assert {"license", "pretty_name", "task_categories", "configs"} <= set(head)
            return self._answer({"errors": [], "warnings": []})
        name = path.removeprefix("/api").removeprefix("/datasets/")
        for call, do in (("/preupload/", _modes), (".git/info/lfs/objects/", self._batch), ("/commit/", self._commit)):
            if call in name and (repository := self._repository(name.partition(call)[0])) is not None:
                self._answer(do(repository, body))
        return None

    def _create(self, body):
        assert body["type"] == "dataset"
        name = f"{body['organization']}/{body['name']}"
        answer = {"url": f"{self.server.url}/datasets/{name}", "name": name}
        if name in self.server.repositories:
            return self._answer(answer | {"error": "You already created this dataset repo"}, 409)
        private = body.get("visibility") == "private" or body.get("private") is True
        self.server.repositories[name] = Repository(private)
        return self._answer(answer)

    def _batch(self, repository, body):
        objects = []
        for expected in json.loads(body)["objects"]:
            upload = {"actions": {"upload": {"href": f"{self.server.url}/large/{expected['oid']}"}}}
            objects.append({**expected, **({} if expected["oid"] in self.server.large else upload)})
        return {"transfer": "basic", "objects": objects}

    def _commit(self, repository, body):
        files = dict(repository.commits[-1])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
        repository.commits.append(files)
        name = self.path.removeprefix("/api/").partition("/commit/")[0]
        return {"commitUrl": f"{self.server.url}/{name}/commit/{'1' * 40}", "commitOid": "1" * 40, "success": True}


def _modes(repository, body):
    modes = [
        {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(LARGE) else "regular", "shouldIgnore": False}
        for f in json.loads(body)["files"]
    ]
    return {"files": modes}


def _entry(path, data):
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    entry = {"type": "file", "path": path, "size": len(data), "oid": blob}
    if path.endswith(LARGE):
        entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return entry


class HubServer(ThreadingHTTPServer):
    """The server. If `fails_after` is set, uploads of large files fail after that number."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.repositories = {}
        self.large = {}
        self.asked = []
        self.fails_after = None
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def hub():
    """Yield a running server."""
    server = HubServer()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
