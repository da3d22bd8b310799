"""Draw the contact sheets of the documentation: ``python docs/images/draw.py [NAME ...]``.

Without names, all sheets are drawn. They are written to the folder of this file. The images are identical to the output
of ``corruptset corrupt``, such as ``corruptset corrupt sample:astronaut fog --severity 3``. The extra ``test`` must be
installed, because scikit-learn provides the digits.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

import corruptset
from corruptset.generate.pixels.image_file import load_image
from corruptset.generate.pixels.matrix import contact_sheet
from corruptset.generate.pixels.preprocessing import preprocess
from corruptset.generate.plan.tree import SetMaker
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.set_spec import merge_chains
from corruptset.generate.regions.region_sheet import region_sheet
from corruptset.pages.contact_sheet import Cell, Pixels, SheetRow, draw_sheet

QUALITY = 82
FAMILIES = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blur": ("gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness", "spatter"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression", "saturate"),
    "training": ("uniform_noise", "fisheye"),
}
NINETEEN = [name for family in ("noise", "blur", "weather", "digital") for name in FAMILIES[family]]
GRADUAL = (
    "black_lines", "white_lines", "random_boxes", "global_blur", "local_blur", "random_noise", "white_fog",
    "pixel_swap",
    "adjacent_pixel_swap", "fade_black", "fade_white", "fade_grey", "posterize", "jpeg",
)  # fmt: skip
MNIST = (
    "shot_noise/5", "impulse_noise/4", "glass_blur/1", "motion_blur/1", "shear/2", "scale/3", "rotate/2",
    "brightness/5", "translate/3",
    "stripe/1", "fog/5", "spatter/4", "dotted_line/1", "zigzag/1", "canny_edges/1", "line/1", "quantize/3",
    "quantize/5", "inverse/1",
)  # fmt: skip
SEVERITIES = range(1, 6)
README = (
    "gaussian_noise", "impulse_noise", "glass_blur", "motion_blur", "frost", "fog", "elastic_transform",
    "jpeg_compression",
)  # fmt: skip


def photograph(name: str = "astronaut", side: int = 224) -> Pixels:
    """Return a photograph of the source ``sample``, cropped as in the recipes for ImageNet and resized to `side`."""
    pixels = preprocess(load_image(f"sample:{name}")[0], load_recipe("imagenet-c-all").preprocessing)
    return pixels if side == 224 else np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BOX))


def digits(rows: Sequence[int]) -> list[Pixels]:
    """Return some digits of scikit-learn with 20 pixels, centred in 28x28 as in MNIST."""
    from sklearn.datasets import load_digits

    small = (load_digits().images[list(rows)] * 255 / 16).astype(np.uint8)
    large = (np.asarray(Image.fromarray(image).resize((20, 20), Image.Resampling.BICUBIC)) for image in small)
    return [np.pad(image, 4)[:, :, None] for image in large]


def readme() -> bytes:
    """Draw the contact sheet of a build with two corruptions of each family of ImageNet-C."""
    return severities(README, side=128)


def severities(names: Sequence[str], side: int = 160) -> bytes:
    clean = photograph()
    images = {
        f"{name}/{s}": corruptset.corrupt(clean, name, severity=s, key="astronaut")
        for name in names
        for s in SEVERITIES
    }
    return contact_sheet(images, clean=clean, side=side)


def at_32() -> bytes:
    clean = {name: photograph(name, 32) for name in ("astronaut", "coffee", "chelsea")}
    images = {}
    for name in NINETEEN:
        for s in SEVERITIES:
            three = [corruptset.corrupt(image, name, severity=s, key=key) for key, image in clean.items()]
            images[f"{name}/{s}"] = np.concatenate(three, axis=1).repeat(2, axis=0).repeat(2, axis=1)
    return contact_sheet(
        images, side=256, title="32x32, each pixel drawn as 2x2; calibration cifar, three samples, seed 0"
    )


def mnist() -> bytes:
    images = digits((30, 50, 41, 32, 43, 38))
    lines = [SheetRow("clean", [("", image) for image in images])]
    for name in MNIST:
        lines.append(
            SheetRow(
                name, [("", corruptset.corrupt(image, name, key=f"test/{i:05}")) for i, image in enumerate(images)]
            )
        )
    return draw_sheet(
        lines, side=84, title="28x28, each pixel drawn as 3x3; calibration mnist, six digits of scikit-learn, seed 0"
    )


def mnist_severities() -> bytes:
    lines = []
    for name in ("shear", "scale", "rotate", "translate", "quantize"):
        cells: list[Cell] = []
        for row, image in zip((3, 7), digits((3, 7)), strict=True):
            cells += [(str(s), corruptset.corrupt(image, name, severity=s, key=f"test/{row:05}")) for s in SEVERITIES]
        lines.append(SheetRow(name, cells))
    return draw_sheet(
        lines,
        side=84,
        title="28x28, each pixel drawn as 3x3; calibration mnist, severities 1 to 5 of two digits of scikit-learn, "
        "seed 0",
    )


def gradual() -> bytes:
    clean = photograph()
    levels = (1, 5, 10, 15, 20, 25, 30)
    images = {
        f"{name}/{level:02d}": corruptset.corrupt(clean, name, level=level, key="astronaut")
        for name in GRADUAL
        for level in levels
    }
    return contact_sheet(images, clean=clean, side=96)


def two_factor() -> bytes:
    recipe = load_recipe("two-factor-69")
    resolved = recipe.resolve()
    maker = SetMaker(resolved.table.side, 0, "independent", recipe.scale, {})
    sets = merge_chains(resolved.sets, maker.seed, maker.coupling)
    sets_and_images = maker.images(maker.tree(sets), photograph()[None], ["astronaut"])
    images = {name: image[0].copy() for name, image in sets_and_images}
    title = f"{recipe.name} {recipe.version}, seed 0: astronaut"
    return contact_sheet(images, clean=photograph(), side=108, title=title)


def regions() -> bytes:
    return region_sheet(load_image("sample:astronaut")[0], load_recipe("fragile-imagenet"), 0, "astronaut", side=128)


SHEETS: dict[str, Callable[[], bytes]] = {
    "readme": readme,
    **{f"gallery-{family}": lambda names=names: severities(names) for family, names in FAMILIES.items()},
    "gallery-32": at_32,
    "gallery-mnist": mnist,
    "gallery-mnist-severities": mnist_severities,
    "gallery-gradual": gradual,
    "two-factor": two_factor,
    "regions": regions,
}


def jpeg(drawn: bytes) -> bytes:
    """Return a sheet as JPEG, which takes a third of the space of PNG for photographs."""
    out = io.BytesIO()
    Image.open(io.BytesIO(drawn)).save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()


def main(names: Iterable[str]) -> None:
    for name in names or SHEETS:
        file = Path(__file__).with_name(f"{name}.jpg")
        file.write_bytes(jpeg(SHEETS[name]()))
        print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
