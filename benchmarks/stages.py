"""The processor time of a build, divided by stages.

The functions of `STAGES` are wrapped from outside, so the package itself holds no clocks; the wrappers cost less than a microsecond a call.
A function that is no longer where the table says is named, and its time counts as that of whatever calls it.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

STAGES = {
    "prepare": ["generate.plan.recipe_build:prepare"],
    "check the source": ["generate.build:_checked"],
    "compile": ["generate.work.warm_up:warm_up"],
    "begin": ["generate.commit.state:begin"],
    "part: other": ["generate.work.worker:process"],
    "read, decode": ["generate.work.worker:load_clean"],
    "resize": ["generate.pixels.preprocessing:preprocess"],
    "corrupt": ["corruptions.stages:apply_stage"],
    "digest": ["pixels:pixel_hashes", "pixels:pixel_digest", "generate.sinks.sink:row_records", "manifests.records.digests:sha256_bytes"],
    "put away": ["generate.sinks.set_writer:SetWriter.add", "generate.sinks.pixel_rows:PixelRows.put"],
    "records": ["generate.sinks.set_writer:SetWriter.lines"],
    "metrics": ["generate.pixels.metrics:measure", "generate.pixels.ms_ssim:ms_ssim"],
    "encode": ["generate.pixels.encoding:ImageEncoding.encode"],
    "write files": ["generate.sinks.files:write_file"],
    "write arrays": ["generate.sinks.arrays:write_rows"],
    "lay out shards": ["manifests.images.shard_writer:shard_pieces"],
    "hash, write shards": ["manifests.disk.large:write_large"],
    "commit": ["generate.work.sidecars:write_sidecar"],
    "manifest, records": ["generate.commit.finish:finish"],
    "contact sheet": ["generate.commit.finish:contact_of"],
}
"""Stage -> functions and methods below the package."""


class Clock:
    """Adds up the processor time of stages, each in its own thread and without the stages that it calls."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._within = threading.local()
        self._lock = threading.Lock()

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return a function with a clock; corruptions are told apart by their stage, the second argument."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            inner = self._within.__dict__.setdefault("stack", [])
            inner.append(0.0)
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.thread_time() - start
                alone = spent - inner.pop()
                if inner:
                    inner[-1] += spent
                with self._lock:
                    self.seconds[f"corrupt: {args[1].corruption}" if stage == "corrupt" else stage] += alone

        return call


def instrument(clock: Clock) -> None:
    """Wrap the functions of all stages, in every module that has imported them."""
    for stage, names in STAGES.items():
        for name in names:
            module, _, path = name.partition(":")
            *owners, attribute = path.split(".")
            try:
                owner = functools.reduce(getattr, owners, importlib.import_module(f"corruptset.{module}"))
                function = getattr(owner, attribute)
            except (ImportError, AttributeError):
                print(f"not timed: {name} is not there; mend benchmarks/stages.py", file=sys.stderr)
                continue
            timed = clock.timed(function, stage)
            setattr(owner, attribute, timed)
            for loaded in [m for n, m in sys.modules.items() if n.startswith("corruptset.") and not owners]:
                for alias in [k for k, v in vars(loaded).items() if v is function]:
                    setattr(loaded, alias, timed)
