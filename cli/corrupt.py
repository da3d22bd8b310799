"""`corruptset corrupt`, `preview` and `check-corruption`: one picture, and the contract of one corruption."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ..files import open_regular, reason
from . import completion
from .command import runs
from .options import AsJson, Calibration, Coupling, Force, FrostTextures, Plugins, Scale, Seed, Sets, argument, option
from .output import put_json, say
from .records import put_record

if TYPE_CHECKING:
    from ..generate.preview import Preview

Key = Annotated[
    str | None,
    option(
        "--key TEXT",
        "What the picture is called: its random draws follow from it. By default the file's name without suffix; "
        "a build uses the sample id.",
    ),
]


def corrupt(
    image: str = argument("IMAGE", "A picture file, or one of the sample source's photographs: 'sample:astronaut'."),
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
    ladder: str | None = option(
        "--ladder NAME", "Whose parameters gradual degradations have: evaluated (the default) or text.", None
    ),
    out: Path | None = option(
        "--out -o FILE", "Where to write: .png (lossless) or .jpg; by default IMAGE-NAME.png, here.", None
    ),
    param: list[str] = option(
        "--param -p NAME=VALUE",
        "A parameter in place of the table's (sigma=0.1), or a draw in place of a random one (angle_deg=30, "
        "points=points.npy). Can be repeated.",
        [],
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

    A photo is turned upright first, as its EXIF orientation says. The same image, key, seed and settings give the same
    pixels on every machine. By default the calibration follows from the short side: up to 28 px and grey mnist, up to
    48 cifar, up to 96 tiny, else imagenet.
    """
    from ..generate.pixels.picture_file import FORMATS, check_output, load

    if plugins:
        from ..corruptions.plugins import load_plugins

        load_plugins(plugins)
    parameters = parse_parameters(param)
    if frost_textures is not None:
        _refuse_textures(name)
        parameters["textures"] = frost_textures
    target = out or default_name(image, name, severity if level is None else level)
    check_output(target, force=force)
    from ..corruptions.call import corrupt as run
    from ..corruptions.registry import get_corruption, is_corruption
    from ..generate.pixels.encoding import parse_encoding
    from ..generate.pixels.preprocessing import preprocess
    from ..generate.recipes.recipe import load_recipe
    from ..manifests.disk.atomic import write_atomic
    from ..pixels import pixel_digest

    pixels, own_key = load(image)
    if recipe is not None:
        loaded = load_recipe(recipe)
        pixels = preprocess(pixels, loaded.preprocessing)
        calibration, scale = calibration or loaded.calibration, scale or loaded.scale
    key = own_key if key is None else key
    drawn: dict[str, Any] = {"seed": seed, "key": key, "coupling": coupling, "surrogate": surrogate, "label": label}
    table: dict[str, Any] = {"calibration": calibration, "ladder": ladder or "evaluated", "scale": scale or "none"}
    result = run(pixels, name, severity=severity, level=level, **table, **drawn, **parameters)
    words = [word for word in re.findall("[a-z][a-z0-9_]*", name) if is_corruption(word)]
    if ladder is not None and all(get_corruption(word).gradual is None for word in words):
        raise ParameterError(f"--ladder goes with a gradual degradation, which has levels; {name!r} has none.")
    write_atomic(target, parse_encoding({"format": FORMATS[target.suffix.lower()]}).encode(result))
    graded = [word for word in words if get_corruption(word).gradual is None]
    chosen = recipe is None and calibration is None and graded and (severity or not name.isidentifier())
    notes = [_calibration_note(pixels.shape, graded)] if chosen else []
    height, width, channels = result.shape
    shape = {"width": width, "height": height, "channels": channels}
    put_done = put_json if as_json else put_record
    put_done(
        {"ok": True, "path": target, **shape, "key": key, "seed": seed, "pixels": pixel_digest(result), "notes": notes}
    )


def _calibration_note(shape: tuple[int, ...], corruptions: Sequence[str]) -> str:
    """Return the note that says which calibration was chosen for an image (H, W, C), and why."""
    from ..corruptions.calibrations import fitting, for_shape

    table = fitting(for_shape(*shape))
    names = dict.fromkeys(table.of(corruption).name for corruption in corruptions)
    grey = " and the image is grey" if table.name == "mnist" else ""
    return (
        f"The calibration {' and '.join(names)} was chosen, because the shorter side is {min(shape[:2])} pixels{grey}. "
        "To choose another calibration, pass --calibration or --recipe."
    )


def _refuse_textures(name: str) -> None:
    """Raise for a corruption that takes no textures: frost alone does."""
    from ..corruptions.registry import corruption_names, get_corruption

    if name not in corruption_names() or "textures" not in get_corruption(name).resources:
        raise ParameterError(f"--frost-textures goes with the corruption frost and its --severity; NAME is {name!r}.")


def default_name(image: str, name: str, severity: float | None) -> Path:
    """Return the file that a corrupted picture goes to where none was named.

    Examples
    --------
    >>> print(default_name("photos/cat.jpg", "fog", 3), default_name("sample:astronaut", "fog/3", None))
    cat-fog-3.png astronaut-fog-3.png
    """
    stem = image.removeprefix("sample:") if image.startswith("sample:") else Path(image).stem
    strength = [] if severity is None else [f"{severity:g}"]
    return Path("-".join([stem, name.replace("/", "-"), *strength]) + ".png")


# The names that the public call keeps for itself.
_RESERVED = set("image name severity level calibration ladder scale coupling seed key surrogate label labels".split())


def parse_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` texts as keywords: numbers, true and false, words, arrays from ``.npy`` files.

    Examples
    --------
    >>> parse_parameters(["sigma=0.1", "iterations=2", "interpolation=nearest"])
    {'sigma': 0.1, 'iterations': 2, 'interpolation': 'nearest'}
    """
    values: dict[str, Any] = {}
    for text in given:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name.isidentifier() or not value:
            raise ParameterError(f"--param {text!r} is not of the form NAME=VALUE, such as sigma=0.1.")
        if name in _RESERVED:
            raise ParameterError(f"--param {text!r}: {name!r} is not a parameter; it has an option of its own.")
        if name in values:
            raise ParameterError(f"--param {name} is given twice.")
        values[name] = _value(name, value)
    return values


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


def _previewed(shown: Preview) -> dict[str, Any]:
    names = {"sets": list(shown.images)} if shown.images else {}
    return {"ok": True, "path": str(shown.path), "recipe": shown.recipe, **names, "key": shown.key, "seed": shown.seed}


@runs(json=_previewed)
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
) -> None:
    """Write a contact sheet: one picture under every corruption at every severity.

    Without --recipe the picture's short side chooses it: up to 28 px and grey mnist-c, up to 48 cifar10-c, up to 96
    tiny-imagenet-c, else imagenet-c-all. Where --sets is not given, gradual degradations are shown at levels 1, 5, 10
    and so on.
    """


def check_corruption(
    name: str = argument(
        "NAME", "A corruption, your own or one of corruptset's.", autocompletion=completion.corruptions
    ),
    param: list[str] = option(
        "--param -p NAME=VALUE",
        "A parameter, for a corruption without a table; by default the middle of its bounds. Can be repeated.",
        [],
    ),
    large: bool = option("--large/--no-large", "Also look at one image of 4000x6000.", True),
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Hold a corruption to its contract: pure, alike in any batch, any size, uint8.

    Its draws follow from the keys alone. Prints one sentence a failure, and leaves with 1 where there is one.
    """
    from ..generate.contract import check_corruption as run

    checked = run(name, parameters=parse_parameters(param), plugins=plugins, large=large)
    record = {"ok": checked.ok, **vars(checked), "seconds": round(checked.seconds, 6) if checked.ok else None}
    if as_json or checked.ok:
        (put_json if as_json else put_record)(record)
    else:
        say("\n".join(checked.failures), style="red")
    raise typer.Exit(0 if checked.ok else 1)
