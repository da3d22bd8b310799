"""Audit sets without the clean images of a source."""

from __future__ import annotations

import numpy as np

from .archives import PublishedBenchmark
from .comparison import CLEAREST
from .encodings import encodings_of
from .found_set import FoundData, FoundSet
from .inventory import classes_finding, identical_arrays, unknown_set
from .messages import count_finding, unreadable_finding
from .records import Content, SetAudit, Verdict
from .set_audit import Audited
from .set_images import SetImages, order_of, read_images
from .storage import ARRAY
from .storage_findings import storage_findings
from .uncorrupted import REFERENCES, is_uncorrupted

_LEAST_SHARED = 5
"""The minimum number of images with the same names that are needed to compare the order of two sets."""


class SetsComparison:
    """A comparison of sets with each other, used if there is no source."""

    def __init__(self, found: FoundData, published: PublishedBenchmark | None, samples: int, *, loader: bool) -> None:
        self.found, self.published, self.samples, self.loader = found, published, samples, loader
        self.calibration = "imagenet" if published is None else published.calibration
        self.first: SetImages | None = None
        """The images of the first set that could be read. Other sets are compared on the same images."""

    def run(self) -> dict[str, Audited]:
        """Return the results that can be obtained without clean images."""
        identical, out = identical_arrays(self.found.sets, self.published), dict[str, Audited]()
        ordered = sorted(
            self.found.sets, key=lambda s: CLEAREST.index(s.corruption) if s.corruption in CLEAREST else len(CLEAREST)
        )
        known = {(s.corruption, s.severity): s for s in ordered}
        references = [self._read(known[name]) for name in REFERENCES if name in known]
        clean = next((self._read(s) for s in ordered if s.corruption == "clean"), None)
        for one in ordered:
            read = self._read(one)
            verdict: Verdict = "identical" if one.id in identical else "not_checked"
            if verdict == "not_checked" and read.images is not None:
                if one.corruption != "clean" and is_uncorrupted(read, clean, references, self.calibration):
                    verdict = "clean"
                elif self.first is not None and self.first.found is not one:
                    verdict = _order_verdict(read, self.first)
            out[one.id] = self._result(read, verdict)
        return {one.id: out[one.id] for one in self.found.sets}

    def _read(self, one: FoundSet) -> SetImages:
        picks = np.unique(np.linspace(0, max(one.count - 1, 0), self.samples).astype(int)).tolist() if one.count else []
        if self.first is not None and one.named:
            places = {key: i for i, key in enumerate(one.keys)}
            wanted = [self.first.found.keys[i] for i in self.first.indices]
            picks = [places[key] for key in wanted if key in places] or picks
        read = read_images(one, [(i, i) for i in picks])
        if self.first is None and read.images is not None:
            self.first = read
        return read

    def _result(self, read: SetImages, verdict: Verdict) -> Audited:
        one, stored = read.found, read.encoding or ARRAY
        findings = [*unknown_set(one), *classes_finding(one, self.published)]
        if read.unreadable:
            findings.append(unreadable_finding(read.unreadable, one))
        if read.images is not None:
            findings += storage_findings(
                encodings_of(one, read.indices),
                stored,
                self.published,
                None,
                loader=self.loader,
                recorded=one.recorded,
            )
        if self.published is not None:
            counted = count_finding(one.count, self.published.images, self.published.title)
            findings += [counted] if counted else []
        content = Content("clean", None, None) if verdict == "clean" else None
        result = SetAudit(one.id, verdict, content, images=one.count, encoding=stored.words, findings=tuple(findings))
        pictures = () if read.images is None or verdict != "clean" else (None, read.images[0], None)
        return Audited(result, read.digest, pictures)


def _order_verdict(read: SetImages, first: SetImages) -> Verdict:
    """Return a verdict on whether a set has the same images in the same order as the first set."""
    keys = [first.found.keys[i] for i in first.indices]
    both = [(n, keys.index(key)) for n, i in enumerate(read.indices) if (key := read.found.keys[i]) in keys]
    if len(both) < _LEAST_SHARED:
        return "not_checked"
    order = order_of(read.described[[n for n, _ in both]], first.described[[m for _, m in both]])
    if order.right >= 0.25 * len(both):
        return "not_checked"
    return "other_order" if len(order.wrong) > 0.3 * len(both) else "other_images"
