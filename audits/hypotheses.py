"""Define hypotheses about the contents of a set, and compute the images that they predict."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..corruptions.calibrations import SHIPPED, calibrations_of, shipped, with_fallback
from ..corruptions.keys import sample_keys
from ..corruptions.registry import Images, get_corruption
from ..corruptions.stages import Stage, apply_stage, chain_keys, resolve_stage
from .elastic_variant import ALPHAS, elastic_variant

NINETEEN = (
    "gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise",
    "gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
    "snow", "frost", "fog", "brightness", "spatter",
    "contrast", "elastic_transform", "pixelate", "jpeg_compression", "saturate",
)  # fmt: skip
"""The corruptions of ImageNet-C, CIFAR-10-C and Tiny-ImageNet-C, by family."""
VARIANT = "imagecorruptions"
"""A name used as a calibration for corruptions that the package imagecorruptions defines differently."""


@dataclass(frozen=True)
class Hypothesis:
    """A possible content of a set: a corruption at one severity of a calibration, or clean images (``clean``)."""

    corruption: str
    severity: int | None = None
    calibration: str | None = None

    @property
    def words(self) -> str:
        """A description of the hypothesis, such as "fog at severity 3 (calibration imagenet)"."""
        if self.severity is None:
            return self.corruption
        return f"{self.corruption} at severity {self.severity} (calibration {self.calibration})"

    @property
    def deterministic(self) -> bool:
        """Whether the predicted images do not depend on random draws."""
        return self.corruption == "clean" or get_corruption(self.corruption).deterministic

    @functools.cached_property
    def stage(self) -> Stage:
        """The corruption with its parameters."""
        return resolve_stage(self.corruption, with_fallback(str(self.calibration)), severity=self.severity)

    def images(
        self,
        clean: Images,
        ids: Sequence[str],
        *,
        seed: int = 0,
        draws: dict[str, Any] | None = None,
        textures: Any = None,
    ) -> Images:
        """Return the images that the hypothesis predicts, with corruptset's own random draws for ids and a seed."""
        if self.corruption == "clean":
            return clean
        if self.calibration == VARIANT:
            return elastic_variant(clean, int(self.severity or 0), ids, seed)
        resources = {} if textures is None or self.corruption != "frost" else {"textures": textures}
        (key,) = chain_keys([self.stage], seed)
        side = shipped(str(self.calibration)).side
        return apply_stage(
            np.ascontiguousarray(clean),
            self.stage,
            key,
            sample_keys(ids),
            side=side,
            draws=draws,
            resources=resources,
        )


CLEAN = Hypothesis("clean")


def hypothesis_of(corruption: str, severity: int | None, calibration: str) -> Hypothesis | None:
    """Return the hypothesis that a set name states, or None if no severity table contains the corruption and severity.

    If `calibration` has no rows for the corruption, the calibration ``cifar`` is used. If no severity is given and the
    corruption has only one, that severity is used.
    """
    if corruption in ("clean", "identity"):
        return CLEAN
    rows = shipped(calibration).rows
    if corruption not in rows:
        calibration = "cifar" if "cifar" in calibrations_of(corruption) else calibration
        rows = shipped(calibration).rows
    if corruption not in rows:
        return None
    if severity is None:
        severity = MNIST_SEVERITIES.get(corruption) if calibration == "mnist" else None
        severity = min(rows[corruption]) if severity is None and len(rows[corruption]) == 1 else severity
    return Hypothesis(corruption, severity, calibration) if severity in rows[corruption] else None


def computable(corruption: str) -> bool:
    """Return whether some calibration contains a corruption, so that its images can be computed."""
    return corruption in ("clean", "identity") or any(corruption in shipped(name).rows for name in SHIPPED)


MNIST_SEVERITIES = {
    "shot_noise": 5, "impulse_noise": 4, "glass_blur": 1, "motion_blur": 1, "shear": 2, "scale": 3, "rotate": 2,
    "brightness": 5, "translate": 3, "stripe": 1, "fog": 5, "spatter": 4, "dotted_line": 1, "zigzag": 1,
    "canny_edges": 1, "gaussian_noise": 5, "speckle_noise": 5, "gaussian_blur": 2, "defocus_blur": 1, "zoom_blur": 5,
    "frost": 5, "snow": 5, "contrast": 4, "saturate": 5, "jpeg_compression": 5, "pixelate": 3, "elastic_transform": 1,
    "quantize": 5, "line": 1, "inverse": 1,
}  # fmt: skip
"""The severity of each corruption in MNIST-C and its leftovers. Each of them has a single severity."""


@functools.cache
def alternatives(calibration: str) -> tuple[Hypothesis, ...]:
    """Return all possible hypotheses: clean images, and all corruptions at all severities of all calibrations."""
    out = [CLEAN]
    others = [name for name in SHIPPED if name != calibration and (name == "mnist") == (calibration == "mnist")]
    known = list[tuple[str, object]]()
    for name in (calibration, *others):
        rows = shipped(name).rows
        corruptions = NINETEEN if name != "mnist" else MNIST_SEVERITIES
        for corruption in corruptions:
            for severity in rows.get(corruption, ()):
                # If several calibrations have the same parameters, only the first calibration is used.
                if (same := (corruption, rows[corruption][severity].parameters)) not in known:
                    known.append(same)
                    out.append(Hypothesis(corruption, severity, name))
    if calibration != "mnist":
        out += [Hypothesis("elastic_transform", severity, VARIANT) for severity in range(1, len(ALPHAS) + 1)]
    return tuple(out)
