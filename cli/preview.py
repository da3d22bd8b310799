"""`corruptset preview [IMAGE]`: a contact sheet of one picture under every set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from . import completion
from .corrupt import Key
from .options import AsJson, Calibration, Coupling, Force, FrostTextures, Plugins, Scale, Seed, Sets, argument, option, split_globs
from .output import progress_of, put, put_json


def preview(
    image: Annotated[str, argument("IMAGE", "A picture file, or one of the sample source's photographs.")] = "sample:astronaut",
    out: Annotated[Path, option("--out -o FILE", "Where to write the contact sheet (.png).")] = Path("preview.png"),
    recipe: Annotated[
        str | None,
        option(
            "--recipe RECIPE",
            "The recipe whose sets, calibration and preprocessing are shown; by default the one that fits the picture's size.",
            autocompletion=completion.recipes,
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
        bool, option("--regions", "Show regions instead: one of each size, with its eight neighbours and its nine shrunk regions.")
    ] = False,
    plugins: Plugins = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a contact sheet: one picture under every corruption at every severity.

    Without --recipe the picture's short side chooses it: up to 28 px and grey mnist-c, up to 48 cifar10-c, up to 96
    tiny-imagenet-c, else imagenet-c-all. Where --sets is not given, gradual degradations are shown at levels 1, 5, 10 and so on.
    """
    with progress_of("preview") as progress:
        from ..generate.preview import preview as run

        shown = run(
            image,
            recipe,
            sets=split_globs(sets),
            out=out,
            force=force,
            seed=seed,
            key=key,
            calibration=calibration,
            coupling=coupling,
            scale=scale,
            frost_textures=frost_textures,
            regions=regions,
            plugins=plugins,
            progress=progress,
        )
    names = {"sets": list(shown.images)} if shown.images else {}
    if as_json:
        put_json({"ok": True, "path": str(out), "recipe": shown.recipe, **names, "key": shown.key, "seed": seed})
    else:
        what = f"{len(shown.images)} sets of {shown.recipe} on" if names else f"regions of {shown.recipe} of"
        put(f"{out}: {what} {shown.key!r}")
