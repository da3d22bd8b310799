"""How good images of a size are under a corruption: the mean of a similarity over the same photographs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...corruptions.keys import sample_keys
from ...corruptions.registry import get_corruption
from ...corruptions.stages import Scale, Stage, apply_stage, chain_keys
from ..pixels.metrics import ssim
from ..pixels.ms_ssim import LEAST_SIDE, ms_ssim
from ..pixels.preprocessing import ResizeCrop
from ..plan.job import CheckedSample
from ..sources.source import Source
from ..work.worker import load_clean

Metric = Literal["ms-ssim", "ssim"]
METRICS: Mapping[Metric, Callable[[NDArray[np.uint8], NDArray[np.uint8]], float | None]] = {"ms-ssim": ms_ssim, "ssim": ssim}
LEAST: Mapping[Metric, int] = {"ms-ssim": LEAST_SIDE, "ssim": 8}
"""Pixels of a side that a metric needs."""
SEED = 0


@dataclass(frozen=True)
class Photographs:
    """The middle square of some photographs, resized to one size."""

    source: Source
    samples: Sequence[CheckedSample]
    side: int
    metric: Metric

    @cached_property
    def images(self) -> list[NDArray[np.uint8]]:
        """Uint8 (side, side, C) each."""
        spec = ResizeCrop(kind="resize-crop", resize=self.side, crop=self.side)
        return [load_clean(self.source, chosen, spec) for chosen in self.samples]

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """Of the samples."""
        return sample_keys(chosen.sample.id for chosen in self.samples)

    def quality(self, corruption: str, parameters: Mapping[str, Any], *, scale: Scale = "none", side: int) -> float:
        """Return the mean similarity of corrupted images and clean ones; all parameters have the same random draws.

        Parameters
        ----------
        corruption : str
        parameters : mapping
            Every column.
        scale : {"none", "side"}
        side : int
            That the parameters are made for.
        """
        stage = Stage(corruption, get_corruption(corruption).revision, 1, None, parameters)
        (key,) = chain_keys([stage], SEED, "severity")
        similarity = METRICS[self.metric]
        values = []
        for i, image in enumerate(self.images):
            out = apply_stage(image[None], stage, key, self.keys[i : i + 1], side=side, scale=scale)
            values.append(similarity(image, out[0]))
        return float(np.mean([1.0 if value is None else value for value in values]))
