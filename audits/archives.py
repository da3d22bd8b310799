"""List published archives with their checksums, and the names and sizes of their contents."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..corruptions.calibrations import for_shape
from ..files import parse_toml
from .storage import ARRAY, PUBLISHED, StoredAs


@dataclass(frozen=True)
class PublishedBenchmark:
    """A published benchmark and its contents."""

    name: str
    title: str
    side: int
    """The side of the images in pixels."""
    calibration: str
    stored: StoredAs
    images: int
    """The number of images in each set."""
    classes: int
    corruptions: tuple[str, ...]
    """The corruptions that a complete copy contains."""
    extra: tuple[str, ...] = ()
    """Further corruptions that were published with the benchmark."""
    severities: tuple[int, ...] = (1, 2, 3, 4, 5)
    """The severities of each corruption. Empty if each corruption has a single severity that set names do not state."""


FIFTEEN = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
    "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
)  # fmt: skip
EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
MNIST = (
    "identity", "shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate", "brightness",
    "translate", "stripe", "fog", "spatter", "dotted_line", "zigzag", "canny_edges",
)  # fmt: skip
MNIST_LEFTOVERS = (
    "gaussian_noise", "speckle_noise", "gaussian_blur", "defocus_blur", "zoom_blur", "frost", "snow", "contrast",
    "saturate", "jpeg_compression", "pixelate", "elastic_transform", "quantize", "line", "inverse",
)  # fmt: skip
BAR = (
    "blue_noise_sample", "brownish_noise", "caustic_refraction", "checkerboard_cutout", "cocentric_sine_waves",
    "inverse_sparkles", "perlin_noise", "plasma_noise", "single_frequency_greyscale", "sparkles",
)  # fmt: skip
BENCHMARKS = {
    known.name: known
    for known in (
        PublishedBenchmark("imagenet-c", "ImageNet-C", 224, "imagenet", PUBLISHED, 50000, 1000, FIFTEEN, EXTRA),
        PublishedBenchmark(
            "imagenet-c-299", "ImageNet-C-299", 299, "inception", PUBLISHED, 50000, 1000, FIFTEEN, EXTRA
        ),
        PublishedBenchmark("tiny-imagenet-c", "Tiny-ImageNet-C", 64, "tiny", PUBLISHED, 10000, 200, FIFTEEN, EXTRA),
        PublishedBenchmark("cifar10-c", "CIFAR-10-C", 32, "cifar", ARRAY, 10000, 10, (*FIFTEEN, *EXTRA)),
        PublishedBenchmark("cifar100-c", "CIFAR-100-C", 32, "cifar", ARRAY, 10000, 100, (*FIFTEEN, *EXTRA)),
        PublishedBenchmark("mnist-c", "MNIST-C", 28, "mnist", ARRAY, 10000, 10, MNIST, MNIST_LEFTOVERS, ()),
        PublishedBenchmark("imagenet-c-bar", "ImageNet-C-bar", 224, "imagenet", PUBLISHED, 50000, 1000, BAR),
    )
}
"""The benchmarks that audits recognise, by name."""


@dataclass(frozen=True)
class Archive:
    """A published archive."""

    name: str
    benchmark: str
    source: str
    bytes: int
    md5: str


@functools.cache
def _table() -> dict[str, Any]:
    return parse_toml((files(__package__) / "archives.toml").read_text(encoding="utf-8"), "archives.toml")


def archives() -> list[Archive]:
    """Return all published archives whose checksums are known."""
    return [Archive(**entry) for entry in _table()["archives"]]


def published_arrays(benchmark: str) -> dict[str, str]:
    """Return the MD5 checksum of each array in CIFAR-10-C or CIFAR-100-C. The result is empty for other benchmarks."""
    return dict(_table()["arrays"].get(benchmark, {}))


def md5_of(path: Path) -> str:
    """Return the MD5 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def benchmark_of(names: set[str], shape: tuple[int, int, int], classes: int) -> PublishedBenchmark | None:
    """Infer the benchmark from the corruption names, the image shape and the number of classes."""
    height, width, channels = shape
    if names and names <= set(BAR):
        return BENCHMARKS["imagenet-c-bar"]
    if channels == 1 and max(height, width) <= 28:
        return BENCHMARKS["mnist-c"]
    if (height, width) == (299, 299):
        return BENCHMARKS["imagenet-c-299"]
    if (height, width) == (32, 32):
        return BENCHMARKS["cifar100-c" if classes > 10 else "cifar10-c"]
    known = {"imagenet": "imagenet-c", "tiny": "tiny-imagenet-c", "cifar": "cifar10-c", "mnist": "mnist-c"}
    return BENCHMARKS[known[for_shape(*shape)]]
