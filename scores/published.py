"""List published facts: ImageNet-C's corruptions, AlexNet's errors, and how the published sets were made."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from ..canonical import canonical_sha256
from ..errors import VerificationError
from ..manifests.records.models import Manifest

FAMILIES = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
"""The fifteen test corruptions in the families of Hendrycks & Dietterich 2019, "Benchmarking Neural Network Robustness
to Common Corruptions and Perturbations" (ICLR)."""
FIFTEEN = tuple(name for names in FAMILIES.values() for name in names)
EXTRA = {"speckle_noise": "noise", "gaussian_blur": "blur", "spatter": "weather", "saturate": "digital"}
"""The four extra corruptions, which are intended for validation, and their families."""
FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names} | EXTRA
SEVERITIES = (1, 2, 3, 4, 5)

ALEXNET = "alexnet"
IMAGENET_C = "sha256:bcd8e673b9710616bfd9ba732d397b2dda522b31ff9ee192760b9e1774314ce4"
"""The `definition` of the fifteen corruptions of ImageNet-C at 224x224 pixels."""
IMAGENET_IMAGES = 50_000


@dataclass(frozen=True)
class Benchmark:
    """The way in which the sets of a built-in recipe were published. The file published.toml explains the fields."""

    versions: Sequence[str] = ("1.0.0",)
    images: int | None = None
    calibration: str = "imagenet"
    encoding: Sequence[str | int] = field(default_factory=lambda: ["png"])
    remark: str | None = None


def benchmark(recipe: str) -> Benchmark | None:
    """Return how the sets of a recipe were published, or None if no scores for them were published."""
    row = load_published()["benchmarks"].get(recipe)
    return None if row is None else Benchmark(**row)


@cache
def load_published() -> dict[str, Any]:
    """Return the content of published.toml."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def sort_by_literature(names: Iterable[str]) -> list[str]:
    """Sort the names of corruptions or sets in the order of the papers.

    The clean set comes first, followed by noise, blur, weather and digital corruptions and the four extra corruptions.
    All other names keep their order and come last.
    """
    order = {name: place for place, name in enumerate(("clean", *FIFTEEN, *EXTRA))}
    return sorted(names, key=lambda name: order.get(name.partition("/")[0], len(order)))


def recipe_sets(manifest: Manifest) -> list[dict[str, Any]]:
    """Return the sets that the recipe in a manifest lists.

    Raises
    ------
    VerificationError
        If a set has no id or no stages.
    """
    sets: list[dict[str, Any]] = manifest.recipe.get("sets", [])
    for number, spec in enumerate(sets):
        if missing := [key for key in ("id", "stages") if key not in spec]:
            raise VerificationError(
                f"manifest.json: recipe.sets[{number}] has no {missing[0]!r}. Add it, or build the dataset again."
            )
    return sets


def encoding_of(manifest: Manifest) -> list[str | int]:
    """Return the parts of a manifest's encoding that affect pixels, in the form of `Benchmark.encoding`."""
    encoding: dict[str, Any] = {**manifest.encoding}
    return [encoding[key] for key in ("format", "quality", "subsampling") if key in encoding]


def definition(manifest: Manifest) -> str:
    """Return the SHA-256 of the definition of a recipe's fifteen test corruptions.

    The definition covers parameters, scale, preprocessing and encoding. It excludes the seed, which the published sets
    do not have, and the revisions of corruptions, because all revisions implement the same published definition.
    """
    rows = []
    for spec in recipe_sets(manifest):
        stages = spec["stages"]
        if len(stages) == 1 and stages[0]["corruption"] in FIFTEEN and stages[0]["severity"] in SEVERITIES:
            rows.append([stages[0]["corruption"], stages[0]["severity"], sorted(stages[0]["parameters"].items())])
    return canonical_sha256([sorted(rows), manifest.scale, manifest.preprocessing, encoding_of(manifest)])
