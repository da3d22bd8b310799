"""A source that ends the worker that reads it, as a machine that is out of memory does; in a module that workers can
import.
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Any

import numpy as np

from corruptset.generate.sources.source import Loaded, Sample, open_source


class DeadlySource:
    """A folder; while a file says so, reading one sample in a worker kills it (``kill``) or takes all memory
    (``memory``).
    """

    def __init__(self, folder: Path, victim: str, flag: Path) -> None:
        self._inner: Any = open_source(f"folder:{folder}")
        self._victim = victim
        self._flag = flag
        self._parent = os.getpid()
        for name in (
            "scheme",
            "license",
            "classes",
            "samples",
            "notes",
            "grouping",
            "other_files",
            "left_out",
            "pattern",
            "other_bytes",
            "root",
        ):
            setattr(self, name, getattr(self._inner, name))

    def ahead(self, samples: object) -> None:
        """Nothing is fetched."""

    def load(self, sample: Sample) -> Loaded:
        if os.getpid() != self._parent and sample.id == self._victim and self._flag.exists():
            if self._flag.read_text() == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 20), resource.RLIM_INFINITY))
            try:
                np.ones(1 << 30)
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        found: Loaded = self._inner.load(sample)
        return found

    def fingerprint(self, sample: Sample) -> str:
        return str(self._inner.fingerprint(sample))

    def probe(self, sample: Sample) -> Any:
        return self._inner.probe(sample)
