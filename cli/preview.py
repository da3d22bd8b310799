"""`corruptset preview [IMAGE]`: a contact sheet of one picture under every set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .corrupt import Key
from .options import AsJson, Calibration, Coupling, Force, FrostTextures, Scale, Seed, Sets, split_globs
from .output import put, put_json
from .progress import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..generate.plan.set_maker import SetMaker
    from ..generate.recipes.recipe import Recipe
    from ..generate.recipes.set_spec import SetSpec

RECIPES = {"mnist": "mnist-c", "cifar": "cifar10-c", "tiny": "tiny-imagenet-c", "imagenet": "imagenet-c-all"}
"""By the calibration that fits a picture's size."""
REGION_RECIPES = {"mnist": "fragile-cifar10", "cifar": "fragile-cifar10", "tiny": "fragile-imagenet", "imagenet": "fragile-imagenet"}
PREVIEW_FORMATS = (".png",)


def preview(
    image: Annotated[
        str, typer.Argument(metavar="IMAGE", help="A picture file, or one of the sample source's photographs.")
    ] = "sample:astronaut",
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the contact sheet (.png).")] = Path(
        "preview.png"
    ),
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            metavar="RECIPE",
            help="The recipe whose sets, calibration and preprocessing are shown; by default the one that fits the picture's size.",
            show_default=False,
        ),
    ] = None,
    sets: Sets = None,
    seed: Seed = 0,
    key: Key = None,
    calibration: Calibration = None,
    coupling: Coupling = "independent",
    scale: Scale = None,
    frost_textures: FrostTextures = None,
    regions: Annotated[
        bool,
        typer.Option(
            "--regions",
            help="Show regions instead: one of each size, with its eight neighbours and its nine shrunk regions.",
        ),
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a contact sheet: one picture under every corruption at every severity.

    Without --recipe the picture's short side chooses it: up to 28 px and grey mnist-c, up to 48 cifar10-c, up to 96
    tiny-imagenet-c, else imagenet-c-all. Where --sets is not given, gradual degradations are shown at levels 1, 5, 10 and so on.
    """
    from .pictures import check_output, load

    check_output(out, force=force, formats=PREVIEW_FORMATS)
    from ..corruptions.calibrations import for_shape
    from ..corruptions.keys import check_seed
    from ..corruptions.weather.textures import load_textures
    from ..generate.pixels.contact_sheet import contact_sheet
    from ..generate.pixels.preprocessing import preprocess
    from ..generate.plan.set_maker import SetMaker
    from ..generate.recipes.choice import choose_shown
    from ..generate.recipes.recipe import load_recipe
    from ..manifests.disk.atomic import write_atomic

    pixels, own_key = load(image)
    used_key = own_key if key is None else key
    by_size = (REGION_RECIPES if regions else RECIPES)[for_shape(*pixels.shape)]
    loaded = load_recipe(recipe if recipe is not None else by_size)
    check_seed(seed)
    if regions or loaded.regions is not None:
        return _put_regions(pixels, loaded, seed, used_key, out, as_json=as_json)
    pixels = preprocess(pixels, loaded.preprocessing)
    resolved = loaded.resolve(calibration)
    chosen = choose_shown(resolved.sets, split_globs(sets), resolved.table)
    resources = {} if frost_textures is None else {"textures": load_textures(frost_textures)}
    maker = SetMaker(resolved.table.side, seed, coupling, scale or loaded.scale, resources)
    with Progress("preview") as progress:
        images = _make(maker, chosen, pixels, used_key, progress)
    sheet = contact_sheet(
        [(id, image) for id, image in images.items() if id != "clean"],
        clean=pixels,
        title=f"{used_key}, {loaded.name} {loaded.version}, seed {seed}",
    )
    write_atomic(out, sheet)
    if as_json:
        put_json({"ok": True, "path": str(out), "recipe": loaded.name, "sets": list(images), "key": used_key, "seed": seed})
    else:
        put(f"{out}: {len(images)} sets of {loaded.name} on {used_key!r}")


def _put_regions(pixels: NDArray[np.uint8], recipe: Recipe, seed: int, key: str, out: Path, *, as_json: bool) -> None:
    from ..generate.regions.region_sheet import region_sheet
    from ..manifests.disk.atomic import write_atomic

    write_atomic(out, region_sheet(pixels, recipe, seed, key))
    if as_json:
        put_json({"ok": True, "path": str(out), "recipe": recipe.name, "key": key, "seed": seed})
    else:
        put(f"{out}: regions of {recipe.name} of {key!r}")


def _make(maker: SetMaker, sets: Sequence[SetSpec], clean: NDArray[np.uint8], key: str, progress: Progress) -> dict[str, NDArray[np.uint8]]:
    """Return set id -> (H, W, C) image, in the order of the sets: what a build with these settings stores of a sample with this id."""
    from ..generate.recipes.set_spec import merge_chains

    merged = merge_chains(sets, maker.seed, maker.coupling)
    aliases = {spec.id: spec.aliases for spec in merged}
    images_of: dict[str, NDArray[np.uint8]] = {}
    # The first call of a corruption on a machine compiles it: half a minute for all of them, and then never again.
    progress.step("sets", 0, len(merged))
    for count, (id, images) in enumerate(maker.images(maker.tree(merged), clean[None], [key]), 1):
        images_of |= dict.fromkeys([id, *aliases[id]], images[0].copy())
        progress.step("sets", count, len(merged))
    return {spec.id: images_of[spec.id] for spec in sets}
