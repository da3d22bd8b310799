"""One job, measured: ``python -m benchmarks.job '{"what": "build", "recipe": ..., ...}'`` prints JSON.

The other benchmarks run it in a process of its own. `what` is build (the default), plan or export. The time to start
and to import is not included.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from .timing import memory, processor_seconds

JOBS = {
    "build": "corruptset.generate.build",
    "plan": "corruptset.generate.planning",
    "export": "corruptset.generate.exports.export",
}
"""Job -> the module of the function of that name."""


def main() -> None:
    task = json.loads(sys.argv[1])
    what = task.pop("what", "build")
    run = getattr(importlib.import_module(JOBS[what]), what)
    used, start = processor_seconds(), time.perf_counter()
    done = run(**task)
    figures: dict[str, Any] = {"seconds": time.perf_counter() - start, "images": done.images}
    if what == "plan":
        figures |= {"planned_seconds": done.seconds, "bytes": done.bytes}
        figures |= {"looked_at": done.looked_at, "deviation": done.deviation}
    if what == "build":
        # joblib would keep the workers of the source's check for five minutes, and their time counts when they have
        # ended
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
        figures |= {
            "digest": done.digest,
            "sets": len(done.manifest.sets),
            "directory": str(done.directory),
            "corruptions": sorted(done.manifest.revisions),
        }
    print(json.dumps({**figures, "cpu": processor_seconds() - used, "peak": memory()}))


if __name__ == "__main__":
    main()
