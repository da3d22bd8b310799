"""What papers published: the corruptions of ImageNet-C by family, AlexNet's errors on them, and how the published sets were made."""

from __future__ import annotations

from dataclasses import dataclass

from ..canonical import canonical_sha256
from ..manifests.records.models import Manifest

FAMILIES = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
"""The fifteen corruptions to test on, as Hendrycks & Dietterich 2019 ("Benchmarking Neural Network Robustness to Common Corruptions and
Perturbations", ICLR) group them."""
FIFTEEN = tuple(name for names in FAMILIES.values() for name in names)
EXTRA = {"speckle_noise": "noise", "gaussian_blur": "blur", "spatter": "weather", "saturate": "digital"}
"""The four further corruptions, to validate on, and the family of each."""
FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names} | EXTRA
SEVERITIES = (1, 2, 3, 4, 5)

ALEXNET = "alexnet"
ALEXNET_ERRORS = {
    "gaussian_noise": 0.886428,
    "shot_noise": 0.894468,
    "impulse_noise": 0.922640,
    "defocus_blur": 0.819880,
    "glass_blur": 0.826268,
    "motion_blur": 0.785948,
    "zoom_blur": 0.798360,
    "snow": 0.866816,
    "frost": 0.826572,
    "fog": 0.819324,
    "brightness": 0.564592,
    "contrast": 0.853204,
    "elastic_transform": 0.646056,
    "pixelate": 0.717840,
    "jpeg_compression": 0.606500,
}
"""AlexNet's mean errors over the five severities of ImageNet-C, with the digits that evaluation code has from hendrycks/robustness; the
appendix of the paper prints the same to a tenth of a per cent."""
ALEXNET_CLEAN = 0.435
"""Its error on ImageNet's validation images: Table 1 of the paper."""

JPEG = ("jpeg", 85, "4:2:0")
"""How ImageNet-C's images were published: format, quality, subsampling."""
IMAGENET_C = "sha256:bcd8e673b9710616bfd9ba732d397b2dda522b31ff9ee192760b9e1774314ce4"
"""The `definition` of the fifteen corruptions of ImageNet-C at 224x224."""
IMAGENET_IMAGES = 50_000


@dataclass(frozen=True)
class Benchmark:
    """How the sets of a shipped recipe were published."""

    versions: tuple[str, ...] = ("1.0.0",)
    """Of the recipe."""
    images: int | None = None
    """None where the publication does not say how many, or where any will do."""
    calibration: str = "imagenet"
    encoding: tuple[str | int, ...] = ("png",)
    """Format; of JPEG also quality and subsampling."""
    remark: str | None = None
    """Why numbers of this very recipe are not the published ones."""


_WITH_CLEAN = ("1.0.0", "1.1.0")
"""The second has the same sets, and clean."""
_SIDE_299 = "Its images have 299x299 pixels: the published tables of ImageNet-C are of 224x224."
_TEST_ICONS = "The paper's accuracy on a held-out style is of networks that were trained on all other styles: build those with --train."
_FLAGEVAL = "FlagEval publishes no levels: these are ImageNet-C's severities, and the images are not FlagEval's own."
_DEGRADED = "The paper scored 590 photographs that are not published, all of which its networks had right."
_MATLAB = "The paper's sets were made by MATLAB from 500 images: its draws are others, and one image is 0.2 points of accuracy."

BENCHMARKS = {
    "imagenet-c": Benchmark(versions=_WITH_CLEAN, images=IMAGENET_IMAGES, encoding=JPEG),
    "imagenet-c-all": Benchmark(versions=_WITH_CLEAN, images=IMAGENET_IMAGES, encoding=JPEG),
    "imagenet-c-extra": Benchmark(images=IMAGENET_IMAGES, encoding=JPEG),
    "imagenet-c-299": Benchmark(versions=_WITH_CLEAN, images=IMAGENET_IMAGES, calibration="inception", encoding=JPEG, remark=_SIDE_299),
    "tiny-imagenet-c": Benchmark(versions=_WITH_CLEAN, images=10_000, calibration="tiny", encoding=JPEG),
    "cifar10-c": Benchmark(versions=_WITH_CLEAN, images=10_000, calibration="cifar"),
    "cifar100-c": Benchmark(versions=_WITH_CLEAN, images=10_000, calibration="cifar"),
    "mnist-c": Benchmark(images=10_000, calibration="mnist"),
    "two-factor-69": Benchmark(images=500, calibration="cifar", remark=_MATLAB),
    "image-degrade-30": Benchmark(remark=_DEGRADED),
    "image-degrade-30-299": Benchmark(calibration="inception", remark=_DEGRADED),
    "image-degrade-30-text": Benchmark(versions=("1.1.0",), remark=_DEGRADED),
    "icons50-microsoft": Benchmark(calibration="cifar", remark=_TEST_ICONS),
    "icons50-apple": Benchmark(calibration="cifar", remark=_TEST_ICONS),
    "icons50-subtype": Benchmark(calibration="cifar", remark=_TEST_ICONS),
    "flageval": Benchmark(versions=_WITH_CLEAN, remark=_FLAGEVAL),
    "flageval-noise": Benchmark(encoding=JPEG, remark=_FLAGEVAL),
    "fragile-imagenet": Benchmark(images=500),
    "fragile-cifar10": Benchmark(images=10_000, calibration="cifar"),
    "fragile-cifar10-exhaustive": Benchmark(images=10_000, calibration="cifar"),
    "location-cifar10": Benchmark(images=10_000, calibration="cifar"),
}
"""Recipe -> how its sets were published; of a recipe that is not here, no numbers are published."""


def encoding_of(manifest: Manifest) -> tuple[str | int, ...]:
    """Return a manifest's encoding as `Benchmark` has it: what changes pixels."""
    encoding = manifest.encoding
    return tuple(encoding[key] for key in ("format", "quality", "subsampling") if key in encoding)


def definition(manifest: Manifest) -> str:
    """Return the sha256 of what a recipe makes of the fifteen corruptions: parameters, scale, preprocessing and encoding.

    A seed is not in it, because the published sets have none, nor a corruption's revision, which is a better or worse reading of one
    published definition.
    """
    rows = []
    for spec in manifest.recipe.get("sets", []):
        stages = spec["stages"]
        if len(stages) == 1 and stages[0]["corruption"] in FIFTEEN and stages[0]["severity"] in SEVERITIES:
            rows.append([stages[0]["corruption"], stages[0]["severity"], sorted(stages[0]["parameters"].items())])
    return canonical_sha256([sorted(rows), manifest.scale, manifest.preprocessing, encoding_of(manifest)])
