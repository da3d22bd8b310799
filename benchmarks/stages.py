"""One build, timed stage by stage: ``python -m benchmarks.stages '{"recipe": ..., "source": ..., "out": ...}'`` prints JSON.

It is run in a process of its own by the other benchmarks. What a build calls is wrapped from outside, so the package itself holds no
clocks; a stage's time is that of its thread, less that of the stages inside it, and the wrappers cost less than a microsecond a call.
"""

from __future__ import annotations

import functools
import json
import resource
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any


class Clock:
    """Adds up the processor time of stages, each without the stages that it calls."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._within = threading.local()
        self._lock = threading.Lock()

    def wrap(self, owner: Any, name: str, stage: str | None = None) -> None:
        """Time a function or method of a module or class; `stage` None takes the corruption's name."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def timed(*args: Any, **kwargs: Any) -> Any:
            open_stages = self._within.__dict__.setdefault("stack", [])
            open_stages.append(0.0)
            start = time.thread_time()
            try:
                return inner(*args, **kwargs)
            finally:
                spent = time.thread_time() - start
                own = spent - open_stages.pop()
                if open_stages:
                    open_stages[-1] += spent
                with self._lock:
                    self.seconds[stage or f"corrupt: {args[1].corruption}"] += own

        setattr(owner, name, timed)


def instrument(clock: Clock) -> None:
    """Wrap what a build calls."""
    from corruptset.generate import build as building
    from corruptset.generate.commit import finish as finishing
    from corruptset.generate.pixels.encoding import ImageEncoding
    from corruptset.generate.plan import tree
    from corruptset.generate.sinks import set_writer
    from corruptset.generate.work import pool as running
    from corruptset.generate.work import worker

    clock.wrap(building, "prepare", "prepare")
    clock.wrap(building, "_check", "check the source")
    clock.wrap(building, "_compile", "compile")
    clock.wrap(building, "begin", "begin")
    clock.wrap(running, "process", "part: other")
    clock.wrap(worker, "load_clean", "read, decode")
    clock.wrap(worker, "preprocess", "resize")
    clock.wrap(worker, "hashes", "digest")
    clock.wrap(tree, "apply_stage", None)
    clock.wrap(set_writer, "hashes", "digest")
    clock.wrap(set_writer, "sha256_bytes", "digest")
    clock.wrap(set_writer.SetWriter, "describe_rows", "digest")
    clock.wrap(set_writer.SetWriter, "_add_rows", "put away")
    clock.wrap(set_writer.SetWriter, "add", "put away")
    clock.wrap(set_writer.SetWriter, "lines", "records")
    clock.wrap(set_writer, "measure", "metrics")
    clock.wrap(ImageEncoding, "encode", "encode")
    clock.wrap(set_writer.FolderSink, "write", "write files")
    clock.wrap(worker, "_write_shard", "lay out shards")
    clock.wrap(worker, "write_rows", "write arrays")
    clock.wrap(worker, "write_large", "hash, write shards")
    clock.wrap(worker, "write_sidecar", "commit")
    clock.wrap(building, "finish", "manifest, records")
    clock.wrap(finishing, "contact_of", "contact sheet")


def peak() -> int:
    """Return the most memory that this process has held, bytes; on Linux not getrusage's, which begins at what its parent held."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def cpu() -> float:
    """Return processor seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    task = json.loads(sys.argv[1])
    timed = task.pop("stages", True)
    import corruptset

    build = corruptset.build
    clock = Clock()
    if timed:
        instrument(clock)
    before, start = cpu(), time.perf_counter()
    done = build(**task)
    seconds = time.perf_counter() - start
    known = sum(clock.seconds.values())
    used = cpu() - before
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": used,
                "images": done.images,
                "sets": len(done.manifest.sets),
                "bytes": sum(s.bytes for s in done.manifest.sets),
                "digest": done.digest,
                "directory": str(done.directory),
                "peak": peak(),
                "stages": dict(clock.seconds) | ({"other": used - known} if timed else {}),
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
