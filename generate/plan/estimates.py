"""Estimates of time and memory: printed before a build; nothing that a build writes depends on them.

Time is in units of one JPEG encode, which is measured when the
estimate is made, on the machine it is for; the mean cost of a stage was measured in the same unit.
"""

from __future__ import annotations

import time
from statistics import median

import cv2
import numpy as np

from ...corruptions.models.surrogate import Surrogate

STAGE_ENCODES = 2.5
"""Mean cost of one stage at 224x224."""
DECODE_ENCODES = 25.0
"""Reading, decoding and resizing one photograph."""
STORE_ENCODES = 1.0
"""Hashing and writing one image."""
START_SECONDS = 3.0
"""Starting workers and loading kernels (compiled by an earlier run; the first of all takes a minute more)."""
BASE_MEMORY = 300 << 20
"""A process with everything imported and all kernels loaded."""
MODEL_MEMORY = 350 << 20
"""PyTorch, in a process that asks a model for gradients."""
DECODED_COPIES = 3
"""Of a source image's pixels, at most at once: as Pillow decodes it, as an array, and one on the way to the clean image."""


def encode_seconds(size: tuple[int, int]) -> float:
    """Return the seconds of one JPEG encode of (width, height) on this machine, now: the median of nine."""
    width, height = min(size[0], 512), min(size[1], 512)
    ramp = np.add.outer(np.arange(height) * 5, np.arange(width) * 3)[:, :, None] % 256
    image = (ramp ^ (np.arange(3) * 37)).astype(np.uint8)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])
        times.append(time.perf_counter() - start)
    return median(times) * (size[0] * size[1]) / (width * height)


def gradient_seconds(surrogate: Surrogate) -> float:
    """Return the seconds in which a model gives the gradient of one image on this machine, now: the median of three."""
    images = np.full((surrogate.batch, *surrogate.size, surrogate.channels), 128, np.float32)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        surrogate.gradient(images, np.zeros(len(images), np.int64))
        times.append(time.perf_counter() - start)
    return median(times) / len(images)


def build_seconds(*, size: tuple[int, int], samples: int, stages: int, images: int, jobs: int) -> float:
    """Return the estimated seconds of a build.

    Parameters
    ----------
    size : (width, height)
        Of a clean image.
    samples : int
    stages : int
        Stages applied to one sample.
    images : int
        Images stored.
    jobs : int
    """
    work = samples * (DECODE_ENCODES + stages * STAGE_ENCODES) + images * (1 + STORE_ENCODES)
    return START_SECONDS + work * encode_seconds(size) / jobs
