"""`fetch` against curl, from the same server on the loopback: ``python -m benchmarks.fetch``.

A build of noise (224x224 pixels in shards) is packed, an archive for each set, and served by one process that hands files to the kernel
(sendfile). Three things are measured in turn, each in a process of its own: curl, which fetches the archives, four at once,
and checks nothing; `fetch(packed=True)`, which also compares every byte with its sha256; and `fetch`, which also unpacks and verifies.
Seconds and processor seconds of `fetch` are those of the call. Read the ratios: that of seconds depends on what else the machine does.
"""

from __future__ import annotations

import functools
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import corruptset

from .sources import noise_build, recipe
from .timing import child, clocked, options, save

SIDE = 224


class Handler(SimpleHTTPRequestHandler):
    """Serves files without touching their bytes."""

    protocol_version = "HTTP/1.1"

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file."""
        self.connection.sendfile(source)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve(folder: str) -> None:
    """Serve a folder, print the port, and end when standard input does."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


def measure(folder: Path, megabytes: int, repeats: int) -> dict[str, Any]:
    """Pack a build, serve it, measure in turn, print, and return the figures."""
    release = folder / "release"
    build = noise_build(folder, megabytes, SIDE, SIDE * SIDE * 3, recipe("imagenet", "brightness"), format="hdf5", jobs=1)
    bag = corruptset.pack(build, release, by="set", progress=False)
    size = bag.bytes / 1e6
    command = [sys.executable, "-m", "benchmarks.fetch", "--serve", str(release)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}"
    out = folder / "out"

    def curl() -> tuple[float, float]:
        out.mkdir()
        wanted = [part for a in bag.archives for part in ("-o", str(out / a.file.path), f"{url}/{a.path}")]
        command = ["curl", "--no-progress-meter", "--fail", "--parallel", "--parallel-max", "4", *wanted]
        return clocked(lambda: subprocess.run(command, check=True))

    def fetch(**more: Any) -> tuple[float, float]:
        figures = child("job", {"what": "fetch", "address": url, "out": str(out), **more})
        return float(figures["seconds"]), float(figures["cpu"])

    steps = {"curl": curl, "fetch, packed": lambda: fetch(packed=True), "fetch": fetch}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            taken[name].append(step())
            shutil.rmtree(out)
    server.communicate()
    print(f"{size:.0f} MB in {len(bag.archives)} archives, medians of {repeats}; ratios (curl's over ours) are medians over the rounds")
    for name in steps:
        wall, used = (statistics.median(figures) for figures in zip(*taken[name], strict=True))
        pairs = list(zip(taken["curl"], taken[name], strict=True))
        speed, less = (statistics.median(curls[i] / ours[i] for curls, ours in pairs) for i in (0, 1))
        print(f"{name:14} {wall:6.2f} s {size / wall:5.0f} MB/s, {speed:4.2f} of curl's  {used:6.2f} processor s, {less:4.2f} of curl's")
    return {"megabytes": size, "seconds": taken}


def main() -> None:
    """Measure a release of about so many megabytes."""
    parser = options(__doc__, repeats=5)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--folder", type=Path, help="where everything goes; by default the system's folder for temporary files")
    parser.add_argument("--serve", help="be the server of this folder")
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        save(given.json, measure(Path(name), given.megabytes, given.repeats))
    return None


if __name__ == "__main__":
    main()
