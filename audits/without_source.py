"""The audit of sets without clean images."""

from __future__ import annotations

import numpy as np

from .archives import PublishedBenchmark
from .comparison import CLEAREST
from .found_set import FoundData
from .inventory import classes_finding, identical_arrays, unknown_set
from .messages import count_finding, storage_findings, unreadable_finding
from .records import SetAudit, Verdict
from .set_audit import Audited
from .set_images import SetImages, order_of, read_images
from .storage import ARRAY

_LEAST_SHARED = 5
"""The number of images of the same name from which two sets are compared with each other."""


def without_source(
    found: FoundData, published: PublishedBenchmark | None, samples: int, *, loader: bool
) -> dict[str, Audited]:
    """Return the results that are possible without clean images."""
    identical, out = identical_arrays(found, published), dict[str, Audited]()
    reference: SetImages | None = None
    ordered = sorted(found.sets, key=lambda s: CLEAREST.index(s.corruption) if s.corruption in CLEAREST else 99)
    for one in ordered:
        picks = np.unique(np.linspace(0, max(one.count - 1, 0), samples).astype(int)).tolist() if one.count else []
        if reference is not None and one.named:
            places = {key: i for i, key in enumerate(one.keys)}
            wanted = [reference.found.keys[i] for i in reference.indices]
            picks = [places[key] for key in wanted if key in places] or picks
        read = read_images(one, [(i, i) for i in picks])
        stored = read.encoding or ARRAY
        verdict: Verdict = "identical" if one.id in identical else "not_checked"
        findings = [*unknown_set(one), *classes_finding(one, published)]
        if read.unreadable:
            findings.append(unreadable_finding(read.unreadable))
        if published is not None:
            findings += storage_findings(stored, published, None, loader=loader)
            counted = count_finding(one.count, published.images, published.title)
            findings += [counted] if counted else []
        if reference is not None and read.images is not None and verdict == "not_checked":
            verdict = _beside(read, reference)
        elif reference is None and read.images is not None:
            reference = read
        out[one.id] = Audited(
            SetAudit(
                one.id,
                verdict,
                images=one.count,
                checked=0,
                encoding=stored.words,
                findings=tuple(findings),
            ),
            read.digest,
        )
    return {one.id: out[one.id] for one in found.sets}


def _beside(read: SetImages, reference: SetImages) -> Verdict:
    """Return whether a set shows other images, or another order of images, than a set that shows them clearly."""
    keys = [reference.found.keys[i] for i in reference.indices]
    both = [(n, keys.index(key)) for n, i in enumerate(read.indices) if (key := read.found.keys[i]) in keys]
    if len(both) < _LEAST_SHARED:
        return "not_checked"
    order = order_of(read.described[[n for n, _ in both]], reference.described[[m for _, m in both]])
    if order.right >= 0.25 * len(both):
        return "not_checked"
    return "other_order" if len(order.wrong) > 0.3 * len(both) else "other_images"
