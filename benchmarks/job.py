"""Measure one job and print the results as JSON: ``python -m benchmarks.job '{"what": "build", "recipe": ..., ...}'``.

The other benchmarks run this module in a separate process. `what` is ``build`` (the default), ``plan`` or ``export``.
The time to start Python and to import modules is not included.
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
"""A mapping from jobs to modules. Each module defines a function with the name of its job."""


def main() -> None:
    task = json.loads(sys.argv[1])
    what = task.pop("what", "build")
    run = getattr(importlib.import_module(JOBS[what]), what)
    used, start = processor_seconds(), time.perf_counter()
    result = run(**task)
    figures: dict[str, Any] = {"seconds": time.perf_counter() - start, "images": result.images}
    if what == "plan":
        figures |= {"planned_seconds": result.seconds, "bytes": result.bytes}
        figures |= {"looked_at": result.looked_at, "deviation": result.deviation}
    if what == "build":
        # joblib keeps idle workers for five minutes, but their processor time is known only after they have exited.
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
        figures |= {
            "digest": result.digest,
            "sets": len(result.manifest.sets),
            "directory": str(result.directory),
            "corruptions": sorted(result.manifest.revisions),
        }
    print(json.dumps({**figures, "cpu": processor_seconds() - used, "peak": memory()}))


if __name__ == "__main__":
    main()
