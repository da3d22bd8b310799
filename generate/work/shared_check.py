"""The check of a source by array jobs together: each image is decoded by one of them, and all read what was found.

The samples are cut into blocks. A job takes the next block that nobody has checked or is checking, and writes down what it found; a block
of a job that was killed is free again. A file that changes afterwards is noticed by the job that reads it, which compares hashes.
"""

from __future__ import annotations

import json
import shutil
import time
from hashlib import sha256
from pathlib import Path

from ...canonical import canonical
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.disk.lock import Busy, locked
from ...manifests.layout import CHECK_FOLDER
from ...workers import Workers
from ..plan.build_spec import BuildSpec
from ..sources.check import Checked, Seen, check

BLOCK = 2048
"""Images: some ten seconds of one processor."""
WAIT_S = 0.2
"""Between two looks at blocks that others are checking."""


def check_folder(spec: BuildSpec, directory: Path) -> Path:
    """Return where the check of these samples, for what is to be built, is written down."""
    key = sha256(canonical(spec.identity((), "", (), spec.asked_sinks)))
    key.update(json.dumps([spec.source.notes, [[s.id, s.label, s.path] for s in spec.selected]]).encode())
    return directory / CHECK_FOLDER / key.hexdigest()[:32]


def shared_check(spec: BuildSpec, directory: Path, workers: Workers, *, share: float = 0.0, seen: Seen = lambda images: None) -> Checked:
    """Check the selected samples together with other jobs; equals `check` of all.

    Parameters
    ----------
    spec : BuildSpec
    directory : Path
        Of the build; its lock must be held, alone or with other jobs.
    workers : Workers
    share : float
        In [0, 1): with which of the blocks this job begins, so that jobs do not all ask for the same one.
    seen : callable, optional
        Told how many images are checked, by this job or another.
    """
    folder = check_folder(spec, directory)
    starts = list(range(0, len(spec.selected), BLOCK))
    begin = int(share * len(starts))
    missing = [*starts[begin:], *starts[:begin]]
    found: dict[int, Checked] = {}
    images = 0

    def more(new: int) -> None:
        seen(images + new)

    while missing:
        for start in missing:
            block = _block(spec, folder / f"{start // BLOCK:06d}.json", start, workers, more)
            if block is not None:
                found[start] = block
                images += len(block.good) + len(block.bad)
                more(0)
        missing = [start for start in missing if start not in found]
        if missing:
            time.sleep(WAIT_S)
    blocks = [found[start] for start in starts]
    return Checked([entry for block in blocks for entry in block.good], [entry for block in blocks for entry in block.bad])


def forget_check(spec: BuildSpec, directory: Path) -> None:
    """Remove what was found, for people to mend it."""
    shutil.rmtree(check_folder(spec, directory), ignore_errors=True)


def _block(spec: BuildSpec, path: Path, start: int, workers: Workers, seen: Seen) -> Checked | None:
    """Return what was found in a block; None where another job is looking at it."""
    samples = spec.selected[start : start + BLOCK]
    if (data := read_hashed(path)) is None:
        try:
            with locked(path.with_suffix(".lock"), "busy"):
                if (data := read_hashed(path)) is None:
                    checked = check(spec.source, samples, workers=workers, judge=spec.size_problem, seen=seen)
                    index = {sample.id: k for k, sample in enumerate(samples)}
                    rows = [[index[sample.id], *seen] for sample, *seen in checked.good]
                    write_hashed(path, json.dumps([rows, checked.bad], ensure_ascii=False).encode())
                    return checked
        except Busy:
            return None
    good, bad = json.loads(data)
    return Checked([(samples[k], *seen) for k, *seen in good], [(path, reason) for path, reason in bad])
