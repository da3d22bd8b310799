"""`corruptset corrupt`, `preview` and `check-corruption`: a picture under a corruption or under all; whether one keeps
its contract.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError
from ..files import open_regular, reason
from . import completion
from .options import AsJson, Calibration, Coupling, Force, FrostTextures, Plugins, Scale, Seed, Sets, argument, option
from .output import progress_of, put, put_json, say

Picture = Annotated[
    str, argument("IMAGE", "A picture file, or one of the sample source's photographs: 'sample:astronaut'.")
]
Key = Annotated[
    str | None,
    option(
        "--key TEXT",
        "What the picture is called: its random draws follow from it. By default the file's name without suffix; "
        "a build uses the sample id.",
    ),
]


def corrupt(
    image: Picture,
    name: str = argument(
        "NAME",
        "A corruption ('fog') or a set id ('fog/3', 'fog-2.25+gaussian_noise-5').",
        autocompletion=completion.corruptions,
    ),
    severity: float | None = option(
        "--severity -s 0-5", "How strong, for a corruption's name; 2.25 is allowed, 0 is the picture itself.", None
    ),
    level: int | None = option(
        "--level 0-99", "How far, for a gradual degradation's name; 0 is the picture itself.", None
    ),
    ladder: str = option(
        "--ladder NAME", "Whose parameters gradual degradations have: evaluated or text.", "evaluated"
    ),
    out: Path | None = option(
        "--out -o FILE", "Where to write: .png (lossless) or .jpg; by default IMAGE-NAME.png, here.", None
    ),
    param: list[str] | None = option(
        "--param -p NAME=VALUE",
        "A parameter in place of the table's (sigma=0.1), or a draw in place of a random one (angle_deg=30, "
        "points=points.npy). Can be repeated.",
        None,
    ),
    seed: Seed = 0,
    key: Key = None,
    recipe: str | None = option(
        "--recipe RECIPE",
        "Resize and crop, and take the calibration and scale, as this recipe does; by default the picture stays as it "
        "is.",
        None,
        autocompletion=completion.recipes,
    ),
    calibration: Calibration = None,
    coupling: Coupling = "independent",
    scale: Scale = None,
    frost_textures: FrostTextures = None,
    surrogate: Path | None = option(
        "--surrogate FILE", "The model file (TOML) of a corruption that follows a gradient: pgd, model_gradient.", None
    ),
    label: int | None = option(
        "--label N", "The picture's class for such a corruption, as the model counts them.", None
    ),
    plugins: Plugins = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Corrupt one picture and write the result.

    The same picture, key, seed and settings give the same pixels on every machine. Without --calibration or --recipe
    the table follows from the short side: up to 28 px and grey mnist, up to 48 cifar, up to 96 tiny, else imagenet.
    """
    from ..generate.pixels.picture_file import FORMATS, check_output, load

    if plugins:
        from ..corruptions.plugins import load_plugins

        load_plugins(plugins)
    parameters = parse_parameters(param or [])
    if frost_textures is not None:
        from ..corruptions.registry import corruption_names, get_corruption

        if name not in corruption_names() or "textures" not in get_corruption(name).resources:
            raise ParameterError(
                f"--frost-textures goes with the corruption frost and its --severity; NAME is {name!r}."
            )
        from ..corruptions.weather.textures import load_textures

        parameters["textures"] = load_textures(frost_textures)
    target = out if out is not None else default_name(image, name, severity if level is None else level)
    check_output(target, force=force)
    from ..corruptions.call import corrupt as run
    from ..generate.pixels.encoding import parse_encoding
    from ..generate.pixels.preprocessing import preprocess
    from ..generate.recipes.recipe import load_recipe
    from ..manifests.disk.atomic import write_atomic
    from ..pixels import pixel_digest

    pixels, own_key = load(image)
    used_key = own_key if key is None else key
    loaded = None if recipe is None else load_recipe(recipe)
    if loaded is not None:
        pixels = preprocess(pixels, loaded.preprocessing)
    result = run(
        pixels,
        name,
        severity=severity,
        level=level,
        calibration=calibration or (loaded.calibration if loaded else None),
        ladder=ladder,
        scale=scale or (loaded.scale if loaded else "none"),
        coupling=coupling,
        seed=seed,
        key=used_key,
        surrogate=surrogate,
        label=label,
        **parameters,
    )
    write_atomic(target, parse_encoding({"format": FORMATS[target.suffix.lower()]}).encode(result))
    height, width, channels = result.shape
    if as_json:
        shape = {"width": width, "height": height, "channels": channels}
        put_json({"ok": True, "path": target, **shape, "key": used_key, "seed": seed, "pixels": pixel_digest(result)})
    else:
        put(f"{target}: {width}x{height}, key {used_key!r}, seed {seed}, pixels {pixel_digest(result)}")


def default_name(image: str, name: str, severity: float | None) -> Path:
    """Return the file that a corrupted picture goes to where none was named.

    Examples
    --------
    >>> print(default_name("photos/cat.jpg", "fog", 3), default_name("sample:astronaut", "fog/3", None))
    cat-fog-3.png astronaut-fog-3.png
    """
    stem = image.removeprefix("sample:") if image.startswith("sample:") else Path(image).stem
    return Path("-".join([stem, name.replace("/", "-")] + ([] if severity is None else [f"{severity:g}"])) + ".png")


def parse_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` texts as keyword arguments: whole and other numbers, true and false, arrays from ``.npy``
    files, words.

    Examples
    --------
    >>> parse_parameters(["sigma=0.1", "iterations=2", "interpolation=nearest"])
    {'sigma': 0.1, 'iterations': 2, 'interpolation': 'nearest'}
    """
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier() or not value.strip():
            raise ParameterError(f"--param {text!r} is not of the form NAME=VALUE, such as sigma=0.1.")
        if name in _RESERVED:
            raise ParameterError(f"--param {text!r}: {name!r} is not a parameter; it has an option of its own.")
        if name in values:
            raise ParameterError(f"--param {name} is given twice.")
        values[name] = _value(name, value.strip())
    return values


# The names that the public call keeps for itself.
_RESERVED = set("image name severity level calibration ladder scale coupling seed key surrogate label labels".split())


def _value(name: str, text: str) -> Any:
    if text.endswith(".npy"):
        import numpy as np

        try:
            with open_regular(Path(text)) as file:
                return np.load(file, allow_pickle=False)
        except (OSError, ValueError) as e:
            why = reason(e) if isinstance(e, OSError) else e
            raise ParameterError(f"--param {name}: the array {text} cannot be read: {why}.") from None
    from ..generate.recipes.two_factor import number_or_word

    number = number_or_word(text)
    return text if isinstance(number, float) and not math.isfinite(number) else number


def preview(
    image: str = argument("IMAGE", "A picture file, or one of the sample source's photographs.", "sample:astronaut"),
    out: Path = option("--out -o FILE", "Where to write the contact sheet (.png).", Path("preview.png")),
    recipe: str | None = option(
        "--recipe RECIPE",
        "The recipe whose sets, calibration and preprocessing are shown; by default the one that fits the picture's "
        "size.",
        None,
        autocompletion=completion.recipes,
    ),
    sets: Sets = None,
    seed: Seed = 0,
    key: Key = None,
    calibration: Calibration = None,
    coupling: Coupling = "independent",
    scale: Scale = None,
    frost_textures: FrostTextures = None,
    regions: bool = option(
        "--regions",
        "Show regions instead: one of each size, with its eight neighbours and its nine shrunk regions.",
        False,
    ),
    plugins: Plugins = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a contact sheet: one picture under every corruption at every severity.

    Without --recipe the picture's short side chooses it: up to 28 px and grey mnist-c, up to 48 cifar10-c, up to 96
    tiny-imagenet-c, else imagenet-c-all. Where --sets is not given, gradual degradations are shown at levels 1, 5, 10
    and so on.
    """
    with progress_of("preview") as progress:
        from ..generate.preview import preview as run

        shown = run(
            image,
            recipe,
            sets=sets,
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


def check_corruption(
    name: str = argument(
        "NAME", "A corruption, your own or one of corruptset's.", autocompletion=completion.corruptions
    ),
    param: list[str] | None = option(
        "--param -p NAME=VALUE",
        "A parameter, for a corruption without a table; by default the middle of its bounds. Can be repeated.",
        None,
    ),
    large: bool = option("--large/--no-large", "Also look at one image of 4000x6000.", True),
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Hold a corruption to its contract: pure, alike in any batch and process, drawn from the keys alone, any size,
    uint8.

    Prints one sentence a failure, and leaves with 1 where there is one.
    """
    from ..generate.contract import check_corruption as run

    checked = run(name, parameters=parse_parameters(param or []), plugins=plugins, large=large)
    if as_json:
        record = {"ok": checked.ok, "corruption": name, "plugin": checked.plugin, "failures": list(checked.failures)}
        put_json(
            record | {"checks": list(checked.checks), "seconds": round(checked.seconds, 6) if checked.ok else None}
        )
    elif checked.ok:
        for check in checked.checks:
            put(f"  {check}")
        put(f"{name} keeps the contract; {checked.seconds:.2g} s an image of 224x224", style="green")
    else:
        for failure in checked.failures:
            say(failure, style="red")
    raise typer.Exit(0 if checked.ok else 1)
