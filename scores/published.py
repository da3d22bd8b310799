"""What papers published: ImageNet-C's corruptions, AlexNet's errors, how sets were made."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from ..canonical import canonical_sha256
from ..manifests.records.models import Manifest

FAMILIES = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
"""The fifteen corruptions to test on, as Hendrycks & Dietterich 2019 ("Benchmarking Neural Network Robustness to Common
Corruptions and Perturbations", ICLR) group them."""
FIFTEEN = tuple(name for names in FAMILIES.values() for name in names)
EXTRA = {"speckle_noise": "noise", "gaussian_blur": "blur", "spatter": "weather", "saturate": "digital"}
"""The four further corruptions, to validate on, and the family of each."""
FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names} | EXTRA
SEVERITIES = (1, 2, 3, 4, 5)

ALEXNET = "alexnet"
IMAGENET_C = "sha256:bcd8e673b9710616bfd9ba732d397b2dda522b31ff9ee192760b9e1774314ce4"
"""The `definition` of the fifteen corruptions of ImageNet-C at 224x224."""
IMAGENET_IMAGES = 50_000


@dataclass(frozen=True)
class Benchmark:
    """How the sets of a shipped recipe were published; published.toml says what the fields are."""

    versions: Sequence[str] = ("1.0.0",)
    images: int | None = None
    calibration: str = "imagenet"
    encoding: Sequence[str | int] = field(default_factory=lambda: ["png"])
    remark: str | None = None


def benchmark(recipe: str) -> Benchmark | None:
    """Return how a recipe's sets were published; None where no numbers are."""
    row = published()["benchmarks"].get(recipe)
    return None if row is None else Benchmark(**row)


@cache
def published() -> dict[str, Any]:
    """Return published.toml."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def encoding_of(manifest: Manifest) -> list[str | int]:
    """Return a manifest's encoding as `Benchmark` has it: what changes pixels."""
    encoding: dict[str, Any] = {**manifest.encoding}
    return [encoding[key] for key in ("format", "quality", "subsampling") if key in encoding]


def definition(manifest: Manifest) -> str:
    """Return the sha256 of how a recipe makes the fifteen corruptions.

    It is of parameters, scale, preprocessing and encoding. A seed is not in it, because the published sets have none,
    nor a corruption's revision, which is a better or worse reading of one published definition.
    """
    rows = []
    for spec in manifest.recipe.get("sets", []):
        stages = spec["stages"]
        if len(stages) == 1 and stages[0]["corruption"] in FIFTEEN and stages[0]["severity"] in SEVERITIES:
            rows.append([stages[0]["corruption"], stages[0]["severity"], sorted(stages[0]["parameters"].items())])
    return canonical_sha256([sorted(rows), manifest.scale, manifest.preprocessing, encoding_of(manifest)])
