"""The clean images for the audit benchmark: crops of the sample photographs, and the digits of scikit-learn."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corruptset.generate.pixels.preprocessing import Resize, ResizeCrop, preprocess
from corruptset.generate.sources.source import open_source

COUNT = 20
BENCH, HELD_OUT = "bench", "held-out"
PARTS = {
    BENCH: (
        ("retina", 4),
        ("hubble_deep_field", 3),
        ("motorcycle_left", 3),
        ("coffee", 2),
        ("rocket", 2),
        ("astronaut", 3),
        ("ihc", 2),
        ("chelsea", 1),
    ),
    HELD_OUT: (
        ("china.jpg", 6),
        ("flower.jpg", 4),
        ("camera", 2),
        ("coins", 2),
        ("brick", 1),
        ("grass", 1),
        ("gravel", 1),
        ("moon", 1),
        ("microaneurysms", 1),
        ("page", 1),
    ),
}
"""The names of photographs, each with the number of crops that the benchmark uses.

The constants of the audit were chosen on the images `bench`. The images `held-out` show other scenes, from the packages
scikit-learn (names with a suffix) and scikit-image. Ten of them are grey.
"""


@functools.cache
def _scenes(images: str) -> dict[str, NDArray[np.uint8]]:
    """Return whole photographs by name."""
    if images == BENCH:
        source = open_source("sample")
        return {sample.id: source.load(sample).image for sample in source.samples}
    import skimage.data
    from sklearn.datasets import load_sample_image

    out = {}
    for name, _ in PARTS[images]:
        pixels = np.asarray(load_sample_image(name) if "." in name else getattr(skimage.data, name)(), np.uint8)
        out[name] = pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)
    return out


@functools.cache
def photographs(images: str = BENCH, *, others: bool = False) -> tuple[NDArray[np.uint8], ...]:
    """Return twenty photographs of different sizes and shapes. If `others` is true, they are rotated by 180 degrees."""
    pixels = _scenes(images)
    out = []
    for name, count in PARTS[images]:
        height, width = pixels[name].shape[:2]
        for i in range(count):
            rows, columns = int(height * 0.75), int(width * (0.62 + 0.05 * min(i, 4)))
            top, left = (height - rows) * (i % 2), (width - columns) * i // max(count - 1, 1)
            if others:  # After this rotation, no photograph resembles the original.
                crop = pixels[name][top : top + rows, left : left + columns][::-1, ::-1]
            else:
                crop = pixels[name][top : top + rows, left : left + columns]
            image = Image.fromarray(crop)
            if min(image.size) > 480:
                image = image.resize((image.width * 400 // min(image.size), image.height * 400 // min(image.size)))
            out.append(np.asarray(image))
    return tuple(out)


@functools.cache
def clean(side: int, images: str = BENCH, *, others: bool = False) -> NDArray[np.uint8]:
    """Return the clean images of a benchmark at 224 or 32 pixels, as an array of shape (20, side, side, 3)."""
    crop = ResizeCrop(kind="resize-crop", resize=256, crop=224)
    made = [preprocess(photograph, crop) for photograph in photographs(images, others=others)]
    if side != 224:
        small = Resize(kind="resize", side=side, interpolation="box")
        made = [preprocess(image, small) for image in made]
    return np.stack(made)


@functools.cache
def digits(images: str = BENCH) -> NDArray[np.uint8]:
    """Return twenty grey digits as an array of shape (20, 28, 28)."""
    from sklearn.datasets import load_digits

    first = 0 if images == BENCH else 1000
    chosen = load_digits().images[first : first + COUNT]
    scaled = [Image.fromarray((image * 255 / 16).astype(np.uint8)).resize((20, 20)) for image in chosen]
    return np.stack([np.pad(np.asarray(image), 4) for image in scaled])
