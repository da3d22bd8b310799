"""The public function `preview`, which draws a contact sheet that shows one image in every set of a recipe."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..corruptions.calibrations import for_shape
from ..corruptions.keys import check_seed
from ..corruptions.plugins import load_plugins
from ..corruptions.registry import Images
from ..corruptions.stages import Coupling, Scale, check_images
from ..corruptions.weather.textures import load_textures
from ..errors import require_build
from ..manifests.disk.atomic import write_atomic
from ..pages.contact_sheet import MAX_IMAGE_SIDE
from ..pixels import pixel_digest
from ..progress import progress_function, shows_progress
from .pixels.image_file import check_output, load_image
from .pixels.matrix import contact_sheet
from .pixels.preprocessing import preprocess
from .plan.tree import SetMaker
from .recipes.choice import choose_preview_sets
from .recipes.recipe import Recipe, load_recipe
from .recipes.set_spec import SetSpec, merge_chains
from .regions.region_sheet import region_sheet

RECIPES = {"mnist": "mnist-c", "cifar": "cifar10-c", "tiny": "tiny-imagenet-c", "imagenet": "imagenet-c-all"}
"""The default recipe for each calibration. The calibration depends on the size of the image."""
REGION_RECIPES = {
    "mnist": "fragile-cifar10",
    "cifar": "fragile-cifar10",
    "tiny": "fragile-imagenet",
    "imagenet": "fragile-imagenet",
}
SHEET_FORMATS = (".png",)


@dataclass(frozen=True, repr=False)
class Preview:
    """A contact sheet and its images. Notebooks display the sheet.

    Attributes
    ----------
    recipe : str
    key : str
        The key of the image, from which its random numbers are derived.
    seed : int
    images : mapping of str to (H, W, C) ndarray of uint8
        The image in each set, identical to the image that a build stores. The mapping is empty for a sheet of regions.
    png : bytes
        The sheet as a PNG file.
    path : Path, optional
        The file to which the sheet was written, or None.
    """

    recipe: str
    key: str
    seed: int
    images: Mapping[str, Images]
    png: bytes
    path: Path | None

    def __repr__(self) -> str:
        what = f"{len(self.images)} sets" if self.images else "regions"
        written = "" if self.path is None else f", in {self.path}"
        return f"<Preview of {self.key!r}: {what} of {self.recipe}, seed {self.seed}{written}>"

    def _repr_html_(self) -> str:
        return f'<img alt="{escape(repr(self))}" src="data:image/png;base64,{base64.b64encode(self.png).decode()}">'


@shows_progress("preview")
def preview(
    image: str | Path | Images = "sample:astronaut",
    recipe: str | Path | Recipe | None = None,
    *,
    sets: Sequence[str] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    seed: int = 0,
    key: str | None = None,
    calibration: str | None = None,
    coupling: Coupling = "independent",
    scale: Scale | None = None,
    frost_textures: str | Path | None = None,
    regions: bool = False,
    plugins: Sequence[str | Path] | None = None,
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Preview:
    """Draw a contact sheet of one image under every corruption at every severity.

    Parameters
    ----------
    image : path, ``"sample:NAME"`` or (H, W), (H, W, 1) or (H, W, 3) ndarray of uint8
        An image file, a photograph from the source ``sample``, or an array of pixels.
    recipe : str, path or Recipe, optional
        The recipe whose sets, calibration and preprocessing are used. The default depends on the shorter side of the
        image: ``mnist-c`` for grey images of up to 28 pixels, ``cifar10-c`` up to 48, ``tiny-imagenet-c`` up to 96, and
        ``imagenet-c-all`` for larger images.
    sets : sequence of str, optional
        Patterns of set ids and aliases, such as ``fog/*``. With any recipe, they can also select gradual degradations.
        By default, all sets are drawn, but only levels 1, 5, 10 and so on of gradual degradations.
    out : path, optional
        A PNG file to which the sheet is written.
    force : bool
        Whether to overwrite an existing file.
    seed : int
        The random seed, from 0 to 2**53 - 1.
    key : str, optional
        The key of the image, from which its random numbers are derived. A build uses the sample id. The default is the
        file name without its suffix, the id of the photograph, or ``blake3:`` followed by the hash of the pixels.
    calibration, coupling, scale, frost_textures
        As for `build`.
    regions : bool
        Whether to draw regions instead of sets: one region of each size, with its eight neighbours and the nine regions
        inside it that are two pixels smaller.
    plugins : sequence of str or path, optional
        Python modules or files that define further corruptions.
    progress : callable or bool, optional
        Called with the name of the step, the number of finished sets and the total. By default, a progress bar is shown
        in terminals and notebooks. False disables it.

    Returns
    -------
    Preview

    Raises
    ------
    SourceError, ImageError
        The image cannot be read.
    RecipeError, UnknownCorruption, ParameterError
        The recipe, a set or the calibration does not exist.
    BuildError
        `out` already exists, or cannot be written.
    """
    require_build()
    load_plugins(plugins or ())
    path = None if out is None else Path(out)
    if path is not None:
        check_output(path, force=force, formats=SHEET_FORMATS)
    pixels, default_key = _pixels(image)
    used_key = default_key if key is None else key
    by_size = (REGION_RECIPES if regions else RECIPES)[for_shape(*pixels.shape)]
    loaded = load_recipe(by_size if recipe is None else recipe)
    check_seed(seed)
    images: dict[str, Images] = {}
    if regions or loaded.regions is not None:
        png = region_sheet(pixels, loaded, seed, used_key)
    else:
        pixels = preprocess(pixels, loaded.preprocessing)
        resolved = loaded.resolve(calibration)
        chosen = choose_preview_sets(resolved.sets, sets, resolved.table)
        resources: dict[str, Any] = {} if frost_textures is None else {"textures": load_textures(Path(frost_textures))}
        maker = SetMaker(resolved.table.side, seed, coupling, scale or loaded.scale, resources)
        images = _make_images(maker, chosen, pixels, used_key, progress_function(progress))
        title = f"{used_key}, {loaded.name} {loaded.version}, seed {seed}"
        png = contact_sheet(images, clean=pixels, title=title, side=MAX_IMAGE_SIDE)
    if path is not None:
        write_atomic(path, png)
    return Preview(loaded.name, used_key, seed, images, png, path)


def _pixels(image: str | Path | Images) -> tuple[Images, str]:
    """Return an image as an (H, W, C) array, and its default key."""
    if isinstance(image, (str, Path)):
        return load_image(str(image))
    pixels = check_images(np.asarray(image))
    return pixels[0], pixel_digest(pixels[0])


def _make_images(
    maker: SetMaker, sets: Sequence[SetSpec], clean: Images, key: str, progress: Callable[[str, int, int], None]
) -> dict[str, Images]:
    """Return a mapping from set ids to (H, W, C) images, as a build with the same settings stores them."""
    merged = merge_chains(sets, maker.seed, maker.coupling)
    aliases = {spec.id: spec.aliases for spec in merged}
    images_of: dict[str, Images] = {}
    # Progress is reported before the first set, because compiling all corruptions on a new machine takes half a minute.
    progress("sets", 0, len(merged))
    for count, (id, images) in enumerate(maker.images(maker.tree(merged), clean[None], [key]), 1):
        images_of |= dict.fromkeys([id, *aliases[id]], images[0].copy())
        progress("sets", count, len(merged))
    return {spec.id: images_of[spec.id] for spec in sets}
