"""`preview`: one picture under every set of a recipe, as a contact sheet."""

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
from ..manifests.disk.atomic import write_atomic
from ..pages.sheets.style import LARGEST
from ..pixels import pixel_digest
from ..progress import progress_function, shows_progress
from .pixels.matrix import contact_sheet
from .pixels.picture_file import check_output, load
from .pixels.preprocessing import preprocess
from .plan.tree import SetMaker
from .recipes.choice import choose_shown
from .recipes.recipe import Recipe, load_recipe
from .recipes.set_spec import SetSpec, merge_chains
from .regions.region_sheet import region_sheet

RECIPES = {"mnist": "mnist-c", "cifar": "cifar10-c", "tiny": "tiny-imagenet-c", "imagenet": "imagenet-c-all"}
"""By the calibration that fits a picture's size."""
REGION_RECIPES = {
    "mnist": "fragile-cifar10",
    "cifar": "fragile-cifar10",
    "tiny": "fragile-imagenet",
    "imagenet": "fragile-imagenet",
}
FORMATS = (".png",)


@dataclass(frozen=True, repr=False)
class Preview:
    """A contact sheet, and the images in it; a notebook shows the sheet."""

    recipe: str
    key: str
    """What the picture is called: its random draws follow from it."""
    seed: int
    images: Mapping[str, Images]
    """Set id -> (H, W, C) uint8: what a build stores of a sample with this id. Of regions there are none."""
    png: bytes
    """The sheet."""
    path: Path | None
    """Where the sheet was written."""

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
    """Show one picture under every corruption at every severity.

    Parameters
    ----------
    image : path, ``"sample:NAME"`` or (H, W), (H, W, 1), (H, W, 3) ndarray of uint8
        A picture file, one of the sample source's photographs, or pixels.
    recipe : str, path or Recipe, optional
        Whose sets, calibration and preprocessing are shown. By default the picture's short side chooses it: up to 28 px
        and grey ``mnist-c``, up to 48 ``cifar10-c``, up to 96 ``tiny-imagenet-c``, else ``imagenet-c-all``.
    sets : sequence of str, optional
        Globs over set ids and aliases, of gradual degradations too. By default all; gradual degradations at levels 1,
        5, 10 and so on.
    out : path, optional
        A PNG file to write the sheet to.
    force : bool
        Overwrite it if it exists.
    seed : int
        What the random draws start from: 0..2**53 - 1.
    key : str, optional
        What the picture is called: its random draws follow from it. By default a file's name without suffix, the
        sample's id, or of pixels ``blake3:`` and their hash; a build uses the sample id.
    calibration, coupling, scale, frost_textures
        As of `build`.
    regions : bool
        Show regions instead: one of each size, with its eight neighbours and its nine shrunk regions.
    plugins : sequence of str or path, optional
        Modules with corruptions of your own, or their files.
    progress : callable or bool, optional
        Called with the step, sets made and the total. By default a bar is shown in a terminal and in a notebook; False
        shows none.

    Returns
    -------
    Preview

    Raises
    ------
    SourceError, ImageError
        The picture cannot be read, or is none.
    RecipeError, UnknownCorruption, ParameterError
        There is no such recipe, set or calibration.
    BuildError
        `out` exists, or cannot be written there.
    """
    load_plugins(plugins or ())
    path = None if out is None else Path(out)
    if path is not None:
        check_output(path, force=force, formats=FORMATS)
    pixels, own_key = _picture(image)
    used_key = own_key if key is None else key
    by_size = (REGION_RECIPES if regions else RECIPES)[for_shape(*pixels.shape)]
    loaded = load_recipe(by_size if recipe is None else recipe)
    check_seed(seed)
    images: dict[str, Images] = {}
    if regions or loaded.regions is not None:
        png = region_sheet(pixels, loaded, seed, used_key)
    else:
        pixels = preprocess(pixels, loaded.preprocessing)
        resolved = loaded.resolve(calibration)
        chosen = choose_shown(resolved.sets, sets, resolved.table)
        resources: dict[str, Any] = {} if frost_textures is None else {"textures": load_textures(Path(frost_textures))}
        maker = SetMaker(resolved.table.side, seed, coupling, scale or loaded.scale, resources)
        images = _made(maker, chosen, pixels, used_key, progress_function(progress))
        title = f"{used_key}, {loaded.name} {loaded.version}, seed {seed}"
        png = contact_sheet(images, clean=pixels, title=title, side=LARGEST)
    if path is not None:
        write_atomic(path, png)
    return Preview(loaded.name, used_key, seed, images, png, path)


def _picture(image: str | Path | Images) -> tuple[Images, str]:
    """Return the (H, W, C) pixels of a picture, and its own key."""
    if isinstance(image, (str, Path)):
        return load(str(image))
    pixels = check_images(np.asarray(image))
    return pixels[0], pixel_digest(pixels[0])


def _made(
    maker: SetMaker, sets: Sequence[SetSpec], clean: Images, key: str, tell: Callable[[str, int, int], None]
) -> dict[str, Images]:
    """Return set id -> (H, W, C) image, in the order of the sets.

    It is what a build with these settings stores of a sample with this id.
    """
    merged = merge_chains(sets, maker.seed, maker.coupling)
    aliases = {spec.id: spec.aliases for spec in merged}
    images_of: dict[str, Images] = {}
    # The first call of a corruption on a machine compiles it: half a minute for all of them, and then never again.
    tell("sets", 0, len(merged))
    for count, (id, images) in enumerate(maker.images(maker.tree(merged), clean[None], [key]), 1):
        images_of |= dict.fromkeys([id, *aliases[id]], images[0].copy())
        tell("sets", count, len(merged))
    return {spec.id: images_of[spec.id] for spec in sets}
