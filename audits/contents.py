"""Determine the contents of a set by comparing its images with the images that different hypotheses predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.calibrations import shipped
from ..corruptions.registry import Images
from .elastic_fit import OwnFits, affine_fit, not_rejected, own_fits
from .features import Features, features
from .frost_weight import image_weight
from .hypotheses import CLEAN, VARIANT, Hypothesis, alternatives
from .records import Verdict
from .searches import agreement, nearest_frost, nearest_motion, nearest_of_draws
from .signatures import Distance, Signatures
from .storage import Resized, Steps, apply_storage

SIGNED = ("shear", "rotate", "translate")
"""The corruptions that draw nothing at random except signs."""
_PROBED = 2
"""The number of images that are compared first, and can already rule out a hypothesis."""
_SEARCHED = 4
"""The number of images whose random draws are searched for."""
_RANKED = 14
"""The number of likely hypotheses with random draws that are compared on all images."""
_ROUNDING = 0.002
"""The mean square difference below which no other severity can match the images better."""
_OWN_SEED = 104_729
"""A seed that no dataset is likely to have."""
_THOROUGH = 4
"""The number of likely hypotheses that are compared with all possible storage steps."""
_FITS = 1.3
"""The distance above which further storage steps are tried."""
_ACCEPTED = 1.8
"""The maximum distance from a hypothesis at which a set counts as matching it."""
_FROST_ACCEPTED = 3.6
"""The maximum distance at which a set can be frost.

Frost with the published photographs has distances of at most 3.1, and other sets have distances of at least 4.7.
"""
_OTHERS = ("other_severity", "other_calibration", "other_corruption")
_FROST_DRAWS = 4
_FROST_MARGIN = 0.015
"""The typical difference in the weight of the clean image between random draws of frost."""


@dataclass(frozen=True)
class SetContents:
    """The contents of a set, and the evidence for them."""

    verdict: Verdict
    found: Hypothesis | None = None
    steps: Steps = ()
    candidates: tuple[Hypothesis, ...] = ()
    exact: bool = False
    """Whether the pixels are equal to the predicted ones. If so, the set cannot contain anything else."""
    twice: int = 0
    """The number of images that were stored a second time with the same encoding (see `recompression`)."""


@dataclass(frozen=True)
class Exact:
    """A match between the images in a set and the images that a hypothesis predicts."""

    steps: Steps
    difference: float
    """The mean square difference in grey levels."""


@dataclass(frozen=True)
class Observed:
    """The images in a set that are compared, with their clean images."""

    images: Images
    clean: Images
    ids: Sequence[str]
    rows: Sequence[int]
    """The rows of the clean images in the table of signatures."""
    steps: Sequence[Steps]
    """The possible storage steps, the likeliest first."""
    own: Callable[[Images, Sequence[str]], Images] | None = None
    """For a dataset that corruptset built, a function that computes the images of the set."""


class ContentSearch:
    """A search for the contents of sets. All sets in an audit share one table of signatures."""

    def __init__(self, signatures: Signatures, calibration: str, textures: Any = None) -> None:
        self.signatures, self.calibration, self.textures = signatures, calibration, textures
        self._fits: dict[tuple[Hypothesis, Steps, tuple[int, ...]], OwnFits] = {}

    def contents(self, observed: Observed, expected: Hypothesis | None, *, computable: bool = True) -> SetContents:
        """Return what a set contains. The expected content is tried first.

        If the corruption in the set's name is not computable, no other corruptions are tried.
        """
        if observed.own is not None:
            made = observed.own(observed.clean, observed.ids)
            for steps in observed.steps:
                if agreement(observed.images, observed.clean, apply_storage(made, steps), steps) is not None:
                    return SetContents("same_pixels", expected, steps, exact=True)
        if expected is not None and (exact := self._exactly(observed, expected)) is not None:
            nearer = self._nearer_severity(observed, expected, exact)
            return SetContents(
                "same_pixels" if nearer == expected else "other_severity", nearer, exact.steps, exact=True
            )
        if expected != CLEAN and (exact := self._exactly(observed, CLEAN)) is not None:
            return SetContents("clean", CLEAN, exact.steps, exact=True)
        if not computable:
            return SetContents("not_checked")
        found = features(observed.images, [self.signatures.bases[row] for row in observed.rows])
        if expected is not None and not expected.deterministic:
            decided = self._as_expected(observed, found, expected)
            if decided is not None:
                return decided
        return self._confirmed(observed, found, self._otherwise(observed, found, expected), expected)

    def _confirmed(
        self, observed: Observed, found: Features, contents: SetContents, expected: Hypothesis | None
    ) -> SetContents:
        """Return the contents if the images reject the expected content, or that the images allow no decision.

        A wrong verdict on an unmodified set is the worst error, so the rejection is calibrated with new draws.
        """
        rivals = contents.candidates if contents.found is None else (contents.found,)
        if expected is None or expected.deterministic or contents.exact or contents.verdict not in _OTHERS:
            return contents
        if expected.corruption == "elastic_transform" and all(map(_moves_points, rivals)):
            own = [self._own_fits(observed, hypothesis, contents.steps) for hypothesis in (expected, *rivals)]
            rejected = 0 not in not_rejected(affine_fit(observed.images, observed.clean), own, 0)
        else:
            rejected = any(
                self.signatures.rejects(found, observed.rows, expected, rival, contents.steps) for rival in rivals
            )
        return contents if rejected else SetContents("inconclusive", None, contents.steps, (expected, *rivals))

    def _exactly(self, observed: Observed, hypothesis: Hypothesis) -> Exact | None:
        """Return how closely the observed images match a hypothesis, or None if they are not equal up to rounding."""
        fitting = list[tuple[float, int]]()
        for number, steps in enumerate(observed.steps):
            compare = self._compared(hypothesis, steps)
            if compare is None:
                return None
            few, most = slice(0, _PROBED), slice(0, None if hypothesis.deterministic else _SEARCHED)
            if self._agreement(observed, compare, few, steps) is None:
                continue
            if (difference := self._agreement(observed, compare, most, steps)) is not None:
                fitting.append((difference, number))
        return Exact(observed.steps[min(fitting)[1]], min(fitting)[0]) if fitting else None

    def _nearer_severity(self, observed: Observed, expected: Hypothesis, exact: Exact) -> Hypothesis:
        """Return the hypothesis with the severity that matches the observed images best.

        Other severities are compared only if the expected severity matches only up to rounding. For example, severities
        3 and 4 of motion blur differ by less than one grey level at 32 pixels.
        """
        if exact.difference < _ROUNDING or expected == CLEAN:
            return expected
        best, nearest = exact.difference / 2, expected
        for severity in shipped(str(expected.calibration)).rows[expected.corruption]:
            rival = replace(expected, severity=severity)
            compare = self._compared(rival, exact.steps) if severity != expected.severity else None
            if compare is None:
                continue
            # Use the same images as `_exactly`, because a few saturated images can be equal at several severities.
            most = slice(0, None if expected.deterministic else _SEARCHED)
            difference = self._agreement(observed, compare, most, exact.steps)
            if difference is not None and difference < best:
                best, nearest = difference, rival
        return nearest

    @staticmethod
    def _agreement(
        observed: Observed, compare: Callable[[Observed, slice], Images], part: slice, steps: Steps
    ) -> float | None:
        return agreement(observed.images[part], observed.clean[part], compare(observed, part), steps)

    def _compared(self, hypothesis: Hypothesis, steps: Steps) -> Callable[[Observed, slice], Images] | None:
        """Return a function that computes the images that a hypothesis predicts, or None if its draws are unknown."""

        def plain(observed: Observed, part: slice) -> Images:
            return apply_storage(
                hypothesis.images(observed.clean[part], observed.ids[part], textures=self.textures), steps
            )

        if hypothesis.deterministic or hypothesis.calibration == VARIANT:
            return plain if hypothesis.deterministic else None
        if hypothesis.corruption == "motion_blur":
            return lambda observed, part: nearest_motion(observed.images[part], observed.clean[part], hypothesis, steps)
        if hypothesis.corruption in SIGNED:
            return lambda observed, part: nearest_of_draws(
                observed.images[part], observed.clean[part], observed.ids[part], hypothesis, steps
            )
        if hypothesis.corruption == "frost" and self.textures is not None:
            return lambda observed, part: nearest_frost(
                observed.images[part], observed.clean[part], hypothesis, steps, self.textures
            )
        return plain  # corruptset's own draws, with seed 0 and the ids in the source

    def _distance(self, observed: Observed, found: Features, hypothesis: Hypothesis, *, every: bool = True) -> Distance:
        """Return the distance between a set and a hypothesis, with the storage steps that fit best.

        If `every` is false, only the likeliest storage steps are tried.
        """
        # The smaller of two distances decides whether lossless files went through JPEG.
        first = 2 if () in observed.steps[:2] else 1

        def nearest(steps: Sequence[Steps]) -> Distance:
            tried = [self.signatures.distance(found, observed.rows, hypothesis, s) for s in steps]
            return min(tried, key=lambda distance: distance.value)

        best = nearest(observed.steps[:first])
        if not every or best.value <= _FITS or len(observed.steps) <= first:
            return best
        return min(best, nearest(observed.steps[first:]), key=lambda distance: distance.value)

    def _rough_distance(self, observed: Observed, found: Features, hypothesis: Hypothesis) -> float:
        return min(
            self.signatures.rough_distance(found, observed.rows, hypothesis, steps) for steps in observed.steps[:2]
        )

    def _as_expected(self, observed: Observed, found: Features, expected: Hypothesis) -> SetContents | None:
        """Return the decision for the expected content, or None if the set does not match it."""
        own = self._distance(observed, found, expected)
        if expected.corruption == "frost":
            return self._frost(observed, found, expected, own)
        if own.value > _ACCEPTED:
            return None
        fitting = self._not_excluded(observed, [own, *self._rivals(observed, found, own)], expected)
        if own not in fitting:
            return None
        if len(fitting) == 1:
            return SetContents("same_parameters", expected, own.steps)
        return SetContents("inconclusive", None, own.steps, tuple(distance.hypothesis for distance in fitting))

    def _rivals(self, observed: Observed, found: Features, own: Distance) -> list[Distance]:
        """Return the distances between a set and the other severities of the corruption in `own`.

        The storage steps are the same as in `own`.
        """
        rows = shipped(str(own.hypothesis.calibration)).rows[own.hypothesis.corruption]
        return [
            self.signatures.distance(found, observed.rows, replace(own.hypothesis, severity=severity), own.steps)
            for severity in rows
            if severity != own.hypothesis.severity
        ]

    def _not_excluded(
        self, observed: Observed, distances: Sequence[Distance], expected: Hypothesis | None
    ) -> list[Distance]:
        """Return the distances of the hypotheses that the images do not exclude, the nearest first."""
        ranked = sorted(distances, key=lambda distance: distance.value)
        near = [distance for distance in ranked if not ranked[0].excludes(distance)]
        if not _has_affine_part(near[0]):
            return near
        # Elastic transforms that the statistics barely exclude are compared too.
        near += [d for d in ranked if d not in near and d.hypothesis == expected and d.value <= _ACCEPTED]
        if len(near) == 1 or not all(_has_affine_part(distance) for distance in near):
            return near
        own = [self._own_fits(observed, distance.hypothesis, distance.steps) for distance in near]
        named = next((number for number, d in enumerate(near) if d.hypothesis == expected), None)
        left = not_rejected(affine_fit(observed.images, observed.clean), own, named)
        return [near[number] for number in left] or near

    def _own_fits(self, observed: Observed, hypothesis: Hypothesis, steps: Steps) -> OwnFits:
        """Fit affine maps to elastic transforms that corruptset itself draws, and return the fits."""
        key = (hypothesis, steps, tuple(observed.rows))
        if key not in self._fits:
            self._fits[key] = own_fits(observed.clean, observed.ids, hypothesis, steps)
        return self._fits[key]

    def _frost(
        self, observed: Observed, found: Features, expected: Hypothesis | None, near: Distance
    ) -> SetContents | None:
        """Return the decision for a set that looks like frost.

        The result is None if the weight of the clean image matches no severity of frost.

        The published frost was made with photographs that are not part of corruptset. Most of its statistics therefore
        differ from the statistics of corruptset's own draws. The weight of the clean image does not depend on the
        photographs.
        """
        weight = image_weight(observed.images, observed.clean)
        distances = [near, *self._rivals(observed, found, near)]
        if weight is None or min(distance.value for distance in distances) > _FROST_ACCEPTED:
            return None

        def predicted(distance: Distance) -> list[float]:
            nominal = float(distance.hypothesis.stage.parameters["image_weight"])
            drawn = []
            for seed in range(_OWN_SEED, _OWN_SEED + _FROST_DRAWS):
                made = distance.hypothesis.images(observed.clean, observed.ids, seed=seed, textures=self.textures)
                own = image_weight(apply_storage(made, near.steps), observed.clean)
                drawn.append(nominal if own is None else own.value)
            return drawn

        weights = {distance.hypothesis: predicted(distance) for distance in distances}
        offs = {hypothesis: abs(float(np.mean(drawn)) - weight.value) for hypothesis, drawn in weights.items()}
        error = max(weight.error, float(np.mean([np.std(drawn, ddof=1) for drawn in weights.values()])))
        margin = max(2 * error, _FROST_MARGIN)
        least = min(offs.values())
        if least > max(3 * error, 1.5 * _FROST_MARGIN):
            return None
        left = [distance for distance in distances if offs[distance.hypothesis] <= least + margin]
        fitting = self._not_excluded(observed, left, expected)
        if len(fitting) > 1:
            return SetContents("inconclusive", None, near.steps, tuple(distance.hypothesis for distance in fitting))
        best = fitting[0].hypothesis
        contents = SetContents(verdict_of(best, expected), best, near.steps)
        return self._confirmed(observed, found, contents, expected)

    def _otherwise(self, observed: Observed, found: Features, expected: Hypothesis | None) -> SetContents:
        """Return what a set contains if its contents differ from what its name states."""
        listed = alternatives(self.calibration)
        near = [h for h in listed if h.calibration in (None, self.calibration, VARIANT)]
        far = [h for h in listed if h not in near]
        for group in (near, far):
            fixed = [h for h in group if h.deterministic and h != expected]
            for hypothesis in self._probed(observed, fixed):
                if (exact := self._exactly(observed, hypothesis)) is not None:
                    return SetContents(verdict_of(hypothesis, expected), hypothesis, exact.steps, exact=True)
            drawn = [h for h in group if not h.deterministic]
            if not drawn:
                continue
            likely = sorted(drawn, key=lambda h: self._rough_distance(observed, found, h))[:_RANKED]
            ranked = sorted((self._distance(observed, found, h, every=False) for h in likely), key=lambda d: d.value)
            if ranked[0].value > _FITS:
                few = [self._distance(observed, found, d.hypothesis) for d in ranked[:_THOROUGH]]
                ranked = sorted([*few, *ranked[_THOROUGH:]], key=lambda d: d.value)
            fitting = self._not_excluded(observed, ranked, expected)
            moved = [d for d in fitting if d.hypothesis.corruption == "motion_blur"]
            for distance in moved:
                if (exact := self._exactly(observed, distance.hypothesis)) is not None:
                    return SetContents(
                        verdict_of(distance.hypothesis, expected), distance.hypothesis, exact.steps, exact=True
                    )
            if ranked[0].hypothesis.corruption == "frost":
                decided = self._frost(observed, found, expected, ranked[0])
                if decided is not None:
                    return decided
            if ranked[0].value > _ACCEPTED:
                continue
            if len(fitting) == 1:
                best = fitting[0]
                verdict = verdict_of(best.hypothesis, expected)
                return SetContents(verdict, best.hypothesis, best.steps)
            # If all candidates lead to the same verdict, return this verdict. The exact content stays unknown.
            verdicts = {verdict_of(d.hypothesis, expected) for d in fitting}
            agreed = verdicts.pop() if len(verdicts) == 1 else "inconclusive"
            return SetContents(agreed, None, ranked[0].steps, tuple(d.hypothesis for d in fitting[:5]))
        return SetContents("inconclusive")

    def _probed(self, observed: Observed, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses that a comparison with one image does not rule out, the nearest first."""
        image = observed.images[0].astype(np.float32)
        errors = list[tuple[float, int]]()
        for number, hypothesis in enumerate(hypotheses):
            made = hypothesis.images(observed.clean[:1], observed.ids[:1])
            error = min(float(np.square(_apply_storage(made, steps) - image).mean()) for steps in observed.steps)
            errors.append((error, number))
        return [hypotheses[number] for error, number in sorted(errors)[:6] if error < 400]


def _has_affine_part(distance: Distance) -> bool:
    resized = any(isinstance(step, Resized) for step in distance.steps)
    return _moves_points(distance.hypothesis) and not resized


def _moves_points(hypothesis: Hypothesis) -> bool:
    return hypothesis.corruption == "elastic_transform" and hypothesis.calibration != VARIANT


def _apply_storage(images: Images, steps: Steps) -> NDArray[np.float32]:
    return np.asarray(apply_storage(images, steps)[0], np.float32)


def verdict_of(found: Hypothesis, expected: Hypothesis | None) -> Verdict:
    """Return the verdict on a set that contains `found` and whose name states `expected`."""
    if found == CLEAN:
        return "same_pixels" if expected == CLEAN else "clean"
    if expected is None or found.corruption != expected.corruption:
        return "other_corruption"
    if found.calibration != expected.calibration:
        return "other_calibration"
    if found.severity != expected.severity:
        return "other_severity"
    return "same_pixels" if found.deterministic else "same_parameters"
