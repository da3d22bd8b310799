"""Audit a single set against a source."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .archives import PublishedBenchmark
from .clean_images import CleanImages, with_channels
from .contents import SIGNED, ContentSearch, Observed, SetContents
from .encodings import encodings_of
from .found_set import FoundSet
from .hypotheses import Hypothesis, computable, hypothesis_of
from .likeness import Descriptors, descriptors, detail_matches, likeness, pixel_matches
from .messages import (
    BGR,
    GREY,
    labels_finding,
    not_computable_finding,
    preprocessing_finding,
    size_finding,
    strangers_finding,
    unreadable_finding,
)
from .preparations import Preparation
from .recompression import stored_twice
from .records import GOOD, Content, Finding, SetAudit, Verdict
from .searches import SIGNS
from .set_images import Order, SetImages, order_of
from .signatures import Signatures
from .storage import ARRAY, ConvertedToGrey, Steps, exchanged_steps, likely_steps
from .storage_findings import second_storage_finding, storage_findings

_SEARCHED_SMALL, _SEARCHED_LARGE = 10_000, 600
"""The maximum number of source images that are searched if the images of a set are in an unexpected order.

The first number is for images of up to 64 pixels, and the second is for larger images.
"""
_LEAD = 0.04
"""The lead in similarity above which a different preparation is tried for a set."""
_EXCHANGED = 0.6
"""The lead in similarity above which a single image belongs to a different name."""
_LIKENESS_DRAWS = 8
_OWN_SEED = 104_729
"""A seed that no dataset is likely to have."""
_CERTAIN, _SLIGHT = 4.0, 0.02
"""The number of standard errors by which a similarity must be too low, and a difference that is insignificant."""


@dataclass(frozen=True)
class Audited:
    """The result for a set, and images for the report."""

    result: SetAudit
    digest: str = ""
    pictures: tuple[NDArray[np.uint8] | None, ...] = ()
    """The clean, the found and the expected image, if the set has findings or does not match its name."""


class SetAuditor:
    """An auditor of sets against a source. Quantities that all sets share are computed once."""

    def __init__(
        self,
        clean: CleanImages,
        pool: Sequence[int],
        benchmark: PublishedBenchmark | None,
        preparations: Sequence[Preparation],
        calibration: str,
        textures: Any,
        *,
        loader: bool,
    ) -> None:
        self.clean, self.pool, self.benchmark = clean, list(pool), benchmark
        self.preparations, self.calibration, self.textures, self.loader = preparations, calibration, textures, loader
        self._rows = {place: row for row, place in enumerate(self.pool)}
        self.cleaned = functools.cache(self._cleaned)
        self._search = functools.cache(self._new_search)
        self._described = functools.cache(self._new_descriptors)

    def _cleaned(self, preparation: Preparation, channels: int) -> NDArray[np.uint8]:
        return self.clean.clean(self.pool, preparation, channels)

    def _new_search(self, preparation: Preparation, channels: int) -> ContentSearch:
        ids = [self.clean.samples[place].id for place in self.pool]
        signatures = Signatures(self.cleaned(preparation, channels), ids, textures=self.textures)
        return ContentSearch(signatures, self.calibration, self.textures)

    def _new_descriptors(self, preparation: Preparation) -> Descriptors:
        return descriptors(list(self.cleaned(preparation, 3)))

    def add(self, places: Sequence[int]) -> None:
        """Add source images to compare, in addition to the ones that all sets share."""
        new = [place for place in dict.fromkeys(places) if place not in self._rows]
        if new:
            self.pool += new
            self._rows = {place: row for row, place in enumerate(self.pool)}
            for cache in (self.cleaned, self._search, self._described):
                cache.cache_clear()

    def rows(self, places: Sequence[int]) -> list[int]:
        """Return the rows that source images have in the tables of this auditor."""
        return [self._rows[place] for place in places]

    def expected(self, found: FoundSet) -> Hypothesis | None:
        """Return the contents that a set name states, or None if the name is unknown."""
        if found.corruption is None:
            return None
        return hypothesis_of(found.corruption, found.severity, self.calibration)

    def audit(self, read: SetImages) -> Audited:
        """Return the result for the images that were read from a set."""
        read = read.uniform
        found, stored = read.found, read.encoding or ARRAY
        blank = SetAudit(found.id, "not_checked", images=found.count, encoding=stored.words)
        trouble = [unreadable_finding(read.unreadable, found)] if read.unreadable else []
        if read.images is None:
            return Audited(replace(blank, findings=tuple(trouble)))
        main = self.preparations[0]
        size, expected_size = read.images.shape[1:3], self.cleaned(main, 3).shape[1:3]
        if size != expected_size:
            return Audited(replace(blank, findings=(*trouble, size_finding(size, expected_size))))
        order = self._order(read, main)
        count, places, moved = len(read.places), list(read.places), False
        if order.right >= 0.4 * count:
            if exchanged := self._exchanged(read, order):
                moved = True
            for number, match in exchanged:
                places[number] = read.places[match]
        elif not _computable(read):
            # The corruption may hide the images. Only clear matches of most images show that their order is wrong.
            moved = len(order.wrong) >= 0.6 * count
        elif (located := self._located_by_pixels(read, main)) is not None:
            places, moved = located, located != list(read.places)
        elif not self._as_alike_as_expected(read):
            located = self._located(read, main) or self._located_by_details(read, main)
            if located is None and self.calibration != "mnist":
                better = self._other_preparation(read)
                if better is None or self._order(read, better).right < 0.4 * count:
                    result = replace(blank, verdict="other_images", checked=count, findings=tuple(trouble))
                    return Audited(result, "", self._pictures(read, main, None))
            elif located is not None:
                places, moved = located, located != list(read.places)
        images, findings, channels = read.images, trouble, read.images.shape[3]
        if channels == 1 and self.benchmark is not None and self.calibration != "mnist":
            images, channels = np.repeat(images, 3, axis=3), 3
        clean = self.cleaned(main, channels)[self.rows(places)]
        if channels == 3 and (text := _channel_trouble(images, clean)) is not None:
            findings = [*findings, text]
            images = images[..., ::-1] if text is BGR else images
        return self._judged(replace(read, images=np.ascontiguousarray(images)), places, moved, channels, findings)

    def _judged(
        self, read: SetImages, places: list[int], moved: bool, channels: int, findings: list[Finding]
    ) -> Audited:
        found, stored, main = read.found, read.encoding or ARRAY, self.preparations[0]
        assert read.images is not None
        published = stored if self.benchmark is None else self.benchmark.stored
        steps = likely_steps(stored, published, min(read.images.shape[1:3]))
        if BGR in findings:
            steps = [exchanged_steps(one) for one in steps]
        if GREY in findings:
            steps = [(ConvertedToGrey(), *one) for one in steps]
        expected = self.expected(found)
        contents = self._contents(read, places, channels, steps, main, expected)
        preparation = main
        unsure = contents.verdict not in (*GOOD, "not_checked") and not contents.exact
        if unsure and (better := self._other_preparation(read)) is not None:
            second = self._contents(read, places, channels, steps, better, expected)
            if second.verdict in GOOD or second.exact or contents.verdict == "inconclusive":
                contents, preparation = second, better
        verdict: Verdict = contents.verdict
        if moved:
            verdict = "other_order"
        if preparation is not main:
            findings = [*findings, preprocessing_finding(preparation.words, main.words)]
        if contents.verdict == "not_checked":
            findings = [*findings, not_computable_finding(str(found.corruption))]
        known = contents.steps if contents.found is not None else None
        findings = [
            *findings,
            *storage_findings(
                encodings_of(found, read.indices),
                stored,
                self.benchmark,
                known,
                loader=self.loader,
                recorded=found.recorded,
            ),
        ]
        if contents.twice:
            findings = [*findings, second_storage_finding(contents.twice, len(places), stored, found.recorded)]
        findings = [*findings, *self._label_findings(read, places)]
        content = None if contents.found is None else content_of(contents.found)
        result = SetAudit(
            id=found.id,
            verdict=verdict,
            found=content,
            candidates=tuple(map(content_of, contents.candidates)),
            images=found.count,
            checked=len(places),
            encoding=stored.words,
            findings=tuple(findings),
        )
        pictures = () if result.good else self._pictures(read, preparation, expected)
        return Audited(result, "", pictures)

    def _contents(
        self,
        read: SetImages,
        places: Sequence[int],
        channels: int,
        steps: Sequence[Steps],
        preparation: Preparation,
        expected: Hypothesis | None,
    ) -> SetContents:
        assert read.images is not None
        rows = self.rows(places)
        clean = self.cleaned(preparation, channels)[rows]
        if clean.shape != read.images.shape:
            return SetContents("inconclusive")
        ids = [self.clean.samples[place].id for place in places]
        observed = Observed(read.images, clean, ids, rows, steps, read.found.own)
        contents = self._search(preparation, channels).contents(observed, expected, computable=_computable(read))
        return replace(contents, twice=stored_twice(observed, contents, read.encodings, self.textures))

    def _other_preparation(self, read: SetImages) -> Preparation | None:
        """Return a preparation that fits the images in a set clearly better than the main one, or None."""
        rows = self.rows(read.places)

        def fit(preparation: Preparation) -> float:
            return float(np.diagonal(likeness(read.described, self._described(preparation)[rows])).mean())

        own, others = fit(self.preparations[0]), self.preparations[1:]
        best = max(others, key=fit, default=None)
        return best if best is not None and fit(best) > own + _LEAD else None

    def _order(self, read: SetImages, preparation: Preparation) -> Order:
        return order_of(read.described, self._described(preparation)[self.rows(read.places)])

    def _expected_likeness(self, read: SetImages) -> list[NDArray[np.float32]]:
        """Return the similarities of the expected images, which corruptset creates, to the clean images.

        Each random draw gives a matrix with the created images in rows and the clean images in columns.
        """
        expected, main = self.expected(read.found), self.preparations[0]
        if expected is None:
            return []
        rows = self.rows(read.places)
        clean = self.cleaned(main, 1 if self.calibration == "mnist" else 3)[rows]
        ids = [self.clean.samples[place].id for place in read.places]
        seeds = range(_OWN_SEED, _OWN_SEED + (1 if expected.deterministic else _LIKENESS_DRAWS))
        described = self._described(main)[rows]
        return [likeness(descriptors(list(expected.images(clean, ids, seed=seed))), described) for seed in seeds]

    def _as_alike_as_expected(self, read: SetImages) -> bool:
        """Return whether the images resemble their clean images as closely as the expected contents allow.

        With fog, images with little texture barely resemble their clean images, even if they are in the right order.
        """
        made = [np.diagonal(matrix) for matrix in self._expected_likeness(read)]
        if not made:
            return False
        observed = np.diagonal(likeness(read.described, self._described(self.preparations[0])[self.rows(read.places)]))
        error = _spread(made) * np.sqrt((1 + 1 / len(made)) / len(observed))
        return bool(observed.mean() > np.mean(made) - _CERTAIN * error - _SLIGHT)

    def _exchanged(self, read: SetImages, order: Order) -> list[tuple[int, int]]:
        """Return the images whose names are clearly wrong, each with its match. The other images are in order."""
        matrix = likeness(read.described, self._described(self.preparations[0])[self.rows(read.places)])
        pairs = [(i, j) for i, j in order.wrong if matrix[i, j] - matrix[i, i] > _EXCHANGED]
        made = self._expected_likeness(read) if pairs else []
        if not made:
            return pairs
        # Images with little texture can resemble other clean images by chance. An exchanged image is also as alike to
        # its clean image as draws for that clean image are.
        mean = np.mean(made, axis=0)
        spread = np.maximum([_spread([m[i] for m in made]) for i in range(len(matrix))], _SLIGHT)
        change = matrix - mean
        return [
            (i, j)
            for i, j in pairs
            if change[i, j] - change[i, i] > np.sqrt(2) * _CERTAIN * spread[i]
            and matrix[i, j] > mean[j, j] - _CERTAIN * spread[j]
        ]

    def _located(self, read: SetImages, preparation: Preparation) -> list[int] | None:
        """Return the index in the source of each image in a set, or None if most images match no source image."""
        side = min(read.images.shape[1:3]) if read.images is not None else 0
        most = _SEARCHED_SMALL if side <= 64 else _SEARCHED_LARGE
        count = len(self.clean.samples)
        if count <= most:
            places = list(range(count))
        else:
            spread = np.linspace(0, count - 1, most).astype(int).tolist()
            places = sorted({*spread, *self.pool})
        matrix = likeness(read.described, self._source_descriptors(tuple(places), preparation))
        best = matrix.argmax(axis=1)
        values = matrix[np.arange(len(best)), best]
        own = np.array([matrix[i, places.index(p)] if p in places else -1.0 for i, p in enumerate(read.places)])
        strong = values > np.maximum(0.5, own + 0.15)
        if strong.mean() < 0.3:
            return None
        located = [places[int(b)] for b in best]
        self.add(located)
        return located

    def _located_by_pixels(self, read: SetImages, preparation: Preparation) -> list[int] | None:
        """Locate images like `_located`, but by their pixels, and only among the source images that all sets share.

        The result is None if the matches are not clear, or if the expected images depend on random draws.
        """
        assert read.images is not None
        matches = pixel_matches(list(read.images), self._predicted(read, preparation))
        return None if matches is None else [self.pool[match] for match in matches]

    def _located_by_details(self, read: SetImages, preparation: Preparation) -> list[int] | None:
        """Locate images like `_located_by_pixels`, but by their fine details."""
        assert read.images is not None
        variants = [self.cleaned(preparation, read.images.shape[3]), *self._predicted(read, preparation)]
        matches = detail_matches(list(read.images), variants)
        return None if matches is None else [self.pool[match] for match in matches]

    def _predicted(self, read: SetImages, preparation: Preparation) -> list[NDArray[np.uint8]]:
        """Return the expected images in all variants, or an empty list if they depend on random draws."""
        expected = self.expected(read.found)
        if expected is None or not (expected.deterministic or expected.corruption in SIGNED):
            return []
        clean = self.cleaned(preparation, 1 if self.calibration == "mnist" else 3)
        ids = [self.clean.samples[place].id for place in self.pool]
        return [expected.images(clean, ids, seed=seed) for seed in range(1 if expected.deterministic else SIGNS)]

    @functools.lru_cache(maxsize=2)  # noqa: B019 - an auditor lives as long as its audit
    def _source_descriptors(self, places: tuple[int, ...], preparation: Preparation) -> Descriptors:
        out = np.zeros((len(places), 2, 256), np.float32)
        for number, place in enumerate(places):
            if (image := self.clean.raw(place)) is not None:
                out[number] = descriptors([preparation.clean(image)])[0]
        return out

    def _label_findings(self, read: SetImages, places: Sequence[int]) -> list[Finding]:
        found = read.found
        if found.labels_cheap and found.named:
            pairs = [(i, p) for i in range(found.count) if (p := self.clean.partner(found, i)) is not None]
        elif found.labels_cheap and list(places) == list(read.places):
            pairs = [(i, i) for i in range(min(found.count, len(self.clean.samples)))]
        else:
            pairs = list(zip(read.indices, places, strict=True))
        wrong, classes, shifts, checked = 0, set[object](), set[int](), 0
        names = {name for record in self.clean.source.classes for name in (record.name, record.folder)}
        for index, place in pairs:
            label, (own, name, folder) = found.label(index), self.clean.class_of(place)
            if own is None or label is None or (isinstance(label, str) and label not in names):
                continue
            checked += 1
            if label not in (own, name, folder):
                wrong += 1
                classes.add(label)
                shifts.add(0 if isinstance(label, str) else (int(label) - own) % len(self.clean.source.classes))
        if not wrong:
            return []
        shift = shifts.pop() if len(shifts) == 1 and wrong == checked else None
        return [labels_finding(wrong, checked, len(classes), shift or None)]

    def strangers(self, found: FoundSet) -> list[Finding]:
        """Return a finding if there are images whose names do not occur in the source."""
        names = [found.keys[i] for i in range(found.count) if self.clean.partner(found, i) is None]
        return [strangers_finding(names, len(names))] if names and found.named else []

    def _pictures(
        self, read: SetImages, preparation: Preparation, expected: Hypothesis | None
    ) -> tuple[NDArray[np.uint8] | None, ...]:
        if read.images is None:
            return ()
        found = read.images[0]
        clean = self.cleaned(preparation, 3)[self.rows(read.places[:1])]
        made = None
        if expected is not None:
            own = clean if self.calibration != "mnist" else with_channels(clean[0], 1)[None]
            made = expected.images(np.ascontiguousarray(own), [self.clean.samples[read.places[0]].id])[0]
        return clean[0], found, made


def _computable(read: SetImages) -> bool:
    return read.found.corruption is None or read.found.own is not None or computable(read.found.corruption)


def _channel_trouble(images: NDArray[np.uint8], clean: NDArray[np.uint8]) -> Finding | None:
    """Return a finding if red and blue are exchanged, or if images are grey although the source is in colour."""
    if clean.shape != images.shape:
        return None
    own = (clean[..., 0].astype(np.int16) - clean[..., 2])[:, ::2, ::2]
    if np.abs(own).mean() < 3:
        return None
    theirs = (images[..., 0].astype(np.int16) - images[..., 2])[:, ::2, ::2]
    green = (images[..., 0].astype(np.int16) - images[..., 1])[:, ::2, ::2]
    if not theirs.any() and not green.any():
        return GREY
    normal = own.ravel().astype(np.float64), theirs.ravel().astype(np.float64)
    correlation = np.corrcoef(*normal)[0, 1]
    return BGR if correlation < -0.5 else None


def _spread(made: Sequence[NDArray[np.float32]]) -> float:
    """Return the standard deviation of the similarities over all draws, or 0 for a single draw."""
    return float(np.sqrt(np.var(made, axis=0, ddof=1).mean())) if len(made) > 1 else 0.0


def content_of(hypothesis: Hypothesis) -> Content:
    """Convert a hypothesis to the content that a report states."""
    return Content(hypothesis.corruption, hypothesis.severity, hypothesis.calibration)
