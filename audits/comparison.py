"""Compare all sets of a dataset with a source."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..generate.pixels.preprocessing import parse_preprocessing
from ..generate.sources.source import Source
from .archives import PublishedBenchmark
from .clean_images import CleanImages
from .found_set import FoundData, FoundSet
from .hypotheses import Hypothesis, hypothesis_of
from .inventory import classes_finding, identical_arrays, unknown_set
from .layouts import range_keys
from .likeness import descriptors, likeness
from .messages import count_finding, unreadable_finding
from .preparations import INTERPOLATIONS, UNCHANGED, Preparation, candidates
from .records import Finding, SetAudit
from .searches import agreement
from .set_audit import Audited, SetAuditor, content_of
from .set_images import SetImages, choose, read_images
from .storage import ARRAY, apply_storage, likely_steps

CLEAREST = ("brightness", "contrast", "jpeg_compression", "pixelate", "saturate", "defocus_blur", "gaussian_blur")
"""Corruptions that draw nothing at random and keep coarse structure.

The corruptions that best reveal how clean images were prepared come first.
"""


class SourceComparison:
    """A comparison of the sets of a dataset with the clean images of a source."""

    def __init__(
        self,
        found: FoundData,
        published: PublishedBenchmark | None,
        source: Source,
        samples: int,
        textures: Any,
        *,
        loader: bool,
    ) -> None:
        self.found, self.published, self.source, self.samples = found, published, source, samples
        self.textures, self.loader = textures, loader
        self.clean = CleanImages(source)

    def run(self, sets: Sequence[FoundSet], tell: Callable[[str, int, int], None]) -> dict[str, Audited]:
        """Return the results for some of the sets in the data."""
        out = dict[str, Audited]()
        identical = identical_arrays(sets, self.published)
        preferred, auditor = self.preferred, self.auditor
        for number, one in enumerate(sets, 1):
            if one.id in identical:
                expected = self._expected(one)
                content = None if expected is None else content_of(expected)
                result = SetAudit(one.id, "identical", content, images=one.count, encoding=ARRAY.words)
                out[one.id] = Audited(result)
            elif auditor is None or not preferred:
                out[one.id] = Audited(self._unmatched(one))
            elif self._holds_all_severities(one):
                out[one.id] = self._all_severities(one, auditor, preferred)
            else:
                out[one.id] = self._one(one, auditor, preferred)
            tell("sets", number, len(sets))
        return out

    def _unmatched(self, one: FoundSet) -> SetAudit:
        """Return the result for a set in which no image can be compared."""
        read = read_images(one, [(index, index) for index in range(min(one.count, 3))])
        if read.unreadable:
            finding = unreadable_finding(read.unreadable, one)
        else:
            text = (
                "No image of the source has the same name as an image of this set. Pass the source from which the set "
                "was made."
            )
            finding = Finding("extra_images", text)
        return SetAudit(one.id, "not_checked", images=one.count, findings=(finding,))

    def _expected(self, one: FoundSet) -> Hypothesis | None:
        return None if one.corruption is None else hypothesis_of(one.corruption, one.severity, self.calibration)

    @property
    def calibration(self) -> str:
        """The calibration to which the severities in set names refer."""
        return "imagenet" if self.published is None else self.published.calibration

    def _one(self, one: FoundSet, auditor: SetAuditor, preferred: Sequence[int]) -> Audited:
        read = self._read(one, auditor, preferred)
        audited = auditor.audit(read)
        expected = len(self.source.samples)
        counted = count_finding(one.count, expected, "the source")
        extra = [*auditor.strangers(one), *([counted] if counted else []), *unknown_set(one)]
        extra += classes_finding(one, self.published)
        result = replace(audited.result, findings=(*audited.result.findings, *extra))
        return replace(audited, result=result, digest=read.digest)

    def _read(self, one: FoundSet, auditor: SetAuditor, preferred: Sequence[int]) -> SetImages:
        chosen = choose(one, self.clean, preferred, self.samples)
        chosen = [(index, place) for index, place in chosen if self.clean.raw(place) is not None]
        auditor.add([place for _, place in chosen])
        return read_images(one, chosen)

    def _holds_all_severities(self, one: FoundSet) -> bool:
        five = self.published is not None and bool(self.published.severities)
        return five and not one.named and one.count == 5 * len(self.source.samples)

    def _all_severities(self, one: FoundSet, auditor: SetAuditor, preferred: Sequence[int]) -> Audited:
        """Return the result for a set that may contain five severities, one after the other."""
        size, parts = one.count // 5, list[Audited]()
        for severity in range(1, 6):
            first = (severity - 1) * size
            part = replace(
                one,
                severity=severity,
                keys=range_keys(size),
                read=lambda i, first=first: one.read(first + i),  # type: ignore[misc]
                header=lambda i, first=first: one.header(first + i),  # type: ignore[misc]
                label=lambda i, first=first: one.label(first + i),  # type: ignore[misc]
            )
            parts.append(self._one(part, auditor, preferred))
        contents = tuple(part.result.found for part in parts if part.result.found is not None)
        if all(part.result.verdict in ("same_pixels", "same_parameters", "inconclusive") for part in parts):
            text = (
                f"The set has {one.count:,} images, five times as many as the source. It contains all five severities, "
                "one after the other, so a score on it is a mean over the severities. Put each severity into a "
                "separate set."
            )
            finding = Finding("extra_images", text)
            result = replace(
                parts[0].result, verdict="other_severity", found=None, candidates=contents, images=one.count
            )
            return Audited(replace(result, findings=(finding,)), parts[0].digest)
        return replace(parts[0], result=replace(parts[0].result, images=one.count))

    @functools.cached_property
    def preferred(self) -> list[int]:
        """The indices in the source of the images on which all sets are compared."""
        largest = max(self.found.sets, key=lambda s: s.count)
        small = [s for s in self.found.sets if s.count < largest.count]
        shared: set[int] | None = None
        for one in [largest, *small][:20]:
            places = {p for i in range(one.count) if (p := self.clean.partner(one, i)) is not None}
            if places and (shared is None or shared & places):
                shared = places if shared is None else shared & places
        ordered = sorted(shared or ())
        picks = [ordered[i] for i in np.unique(np.linspace(0, len(ordered) - 1, self.samples).astype(int))]
        return [place for place in picks if self.clean.raw(place) is not None] if ordered else []

    @functools.cached_property
    def auditor(self) -> SetAuditor | None:
        """The auditor of single sets, or None if no image in the data can be compared."""
        probes = self._probes(self.preferred)
        if not probes:
            return None
        preparations = self._preparations(probes)
        if not preparations:
            return None
        return SetAuditor(
            self.clean,
            self.preferred,
            self.published,
            preparations,
            self.calibration,
            self.textures,
            loader=self.loader,
        )

    def _probes(self, preferred: Sequence[int]) -> list[SetImages]:
        """Return a few images from each of the sets that best reveal how the clean images were prepared."""

        def rank(one: FoundSet) -> tuple[int, int]:
            known = CLEAREST.index(one.corruption) if one.corruption in CLEAREST else len(CLEAREST)
            return known, one.severity or 0

        probes = []
        for one in sorted(self.found.sets, key=rank)[:8]:
            chosen = choose(one, self.clean, preferred[:6], 6)
            read = read_images(one, [pair for pair in chosen if self.clean.raw(pair[1]) is not None])
            if read.images is not None:
                probes.append(read)
        return probes

    def _preparations(self, probes: Sequence[SetImages]) -> list[Preparation]:
        """Return the possible preparations. The first one fits the data best."""
        assert probes[0].images is not None
        height, width = probes[0].images.shape[1:3]
        if self.found.preprocessing is not None:
            return [Preparation("prepared as the manifest says", (parse_preprocessing(self.found.preprocessing),))]
        places = sorted({place for probe in probes for place in probe.places})
        raw = {place: image for place in places if (image := self.clean.raw(place)) is not None}
        sizes = [image.shape[:2] for image in raw.values()]
        listed = candidates([(int(h), int(w)) for h, w in sizes], height, width)
        if len(listed) < 2:
            return listed or [UNCHANGED]
        described = {
            preparation: dict(zip(raw, descriptors([preparation.clean(raw[p]) for p in raw]), strict=True))
            for preparation in listed
        }

        def fit(preparation: Preparation) -> float:
            values = []
            for probe in probes:
                own = np.stack([described[preparation][place] for place in probe.places])
                values.append(float(np.median(np.diagonal(likeness(probe.described, own)))))
            return float(np.median(values))

        fits = {preparation: fit(preparation) for preparation in listed}
        best = max(listed, key=lambda preparation: fits[preparation])
        # The published preparation is replaced only if another preparation fits clearly better.
        best = listed[0] if fits[best] < fits[listed[0]] + 0.02 else best
        refined = self._interpolated(best, probes)
        return [refined, *(p for p in listed if p is not best)]

    def _interpolated(self, preparation: Preparation, probes: Sequence[SetImages]) -> Preparation:
        """Find the interpolation with which a set without random draws has the expected pixels.

        The result is the preparation with this interpolation, or the given preparation if none fits.
        """
        if preparation is UNCHANGED:
            return preparation
        for interpolation in INTERPOLATIONS:
            tried = preparation if interpolation == "bilinear" else preparation.with_interpolation(interpolation)
            for probe in probes[:4]:
                one = probe.found
                expected = self._expected(one)
                if expected is None or not expected.deterministic or probe.images is None:
                    continue
                clean = self.clean.clean(probe.places, tried, probe.images.shape[3])
                published = ARRAY if self.published is None else self.published.stored
                made = expected.images(clean, [""] * len(clean))
                side = min(probe.images.shape[1:3])
                steps = likely_steps(probe.encoding or ARRAY, published, side)
                if any(agreement(probe.images, clean, apply_storage(made, s), s) is not None for s in steps):
                    return tried
        return preparation
