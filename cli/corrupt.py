"""The commands `corruptset corrupt`, `preview` and `check-corruption`, which work on single images."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError
from ..files import open_regular, reason
from . import completion
from .options import (
    MODEL,
    OUTPUT,
    SETS,
    AsJson,
    Calibration,
    Coupling,
    Force,
    FrostTextures,
    Plugins,
    Scale,
    Seed,
    Sets,
)
from .output import progress_of, say
from .records import put_result

InputImage = Annotated[
    str, typer.Argument(metavar="IMAGE", help="An image file, or a sample photograph such as sample:astronaut.")
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        rich_help_panel=SETS,
        help="The key of the image. Together with the seed, it determines the random draws. The default is the file "
        "name without its suffix. A build uses the sample id.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        rich_help_panel=SETS,
        help="A parameter that replaces the one in the severity table (sigma=0.1), or a value that replaces a random "
        "draw (angle_deg=30, points=points.npy). Can be repeated.",
    ),
]


def corrupt(
    image: InputImage,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completion.corruptions,
            help="A corruption (fog) or a set id (fog/3, fog-2.25+gaussian_noise-5).",
        ),
    ],
    severity: Annotated[
        float | None,
        typer.Option(
            "--severity",
            "-s",
            metavar="0-5",
            rich_help_panel=SETS,
            help="The severity of a corruption. Fractions such as 2.25 are allowed, and 0 means unchanged.",
        ),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(
            metavar="0-99",
            rich_help_panel=SETS,
            help="The level of a gradual degradation, usually 0 to 30. Level 0 leaves the image unchanged.",
        ),
    ] = None,
    param: Parameters = None,
    seed: Seed = 0,
    key: Key = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="RECIPE",
            rich_help_panel=SETS,
            autocompletion=completion.recipes,
            help="Resize and crop the image as this recipe does, and use its calibration and scale. By default the "
            "size does not change.",
        ),
    ] = None,
    calibration: Calibration = None,
    ladder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SETS,
            help="The parameters of gradual degradations: those that Swingler 2022 evaluated (evaluated, the default), "
            "or those in the text of that paper (text).",
        ),
    ] = None,
    coupling: Coupling = "independent",
    scale: Scale = None,
    frost_textures: FrostTextures = None,
    plugins: Plugins = None,
    surrogate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=MODEL,
            help="The model file (.toml) for a corruption that uses the gradients of a model (pgd, model_gradient).",
        ),
    ] = None,
    label: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=MODEL,
            help="For pgd and model_gradient, the class of the image, as an index into the outputs of the model.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="The file to write: .png (lossless) or .jpg. The default is IMAGE-NAME.png in the current folder.",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Corrupt one image and write the result.

    A photograph is first rotated according to its EXIF orientation. The same image, key, seed and settings give the
    same pixels on every machine. By default, the calibration depends on the short side of the image. It is mnist for
    grey images of up to 28 pixels, cifar up to 48, tiny up to 96, and imagenet for larger images.
    """
    from ..generate.pixels.image_file import OUTPUT_FORMATS, check_output, load_image

    if plugins:
        from ..corruptions.plugins import load_plugins

        load_plugins(plugins)
    parameters = parse_parameters(param or ())
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

    pixels, default_key = load_image(image)
    if recipe is not None:
        loaded = load_recipe(recipe)
        pixels = preprocess(pixels, loaded.preprocessing)
        calibration, scale = calibration or loaded.calibration, scale or loaded.scale
    key = default_key if key is None else key
    drawn: dict[str, Any] = {"seed": seed, "key": key, "coupling": coupling, "surrogate": surrogate, "label": label}
    table: dict[str, Any] = {"calibration": calibration, "ladder": ladder or "evaluated", "scale": scale or "none"}
    result = run(pixels, name, severity=severity, level=level, **table, **drawn, **parameters)
    words = [word for word in re.findall("[a-z][a-z0-9_]*", name) if is_corruption(word)]
    if ladder is not None and all(get_corruption(word).gradual is None for word in words):
        raise ParameterError(
            f"--ladder can only be used with a gradual degradation, but {name!r} does not contain one. Leave the "
            "option out."
        )
    write_atomic(target, parse_encoding({"format": OUTPUT_FORMATS[target.suffix.lower()]}).encode(result))
    graded = [word for word in words if get_corruption(word).gradual is None]
    chosen = recipe is None and calibration is None and graded and (severity or not name.isidentifier())
    notes = [_calibration_note(pixels.shape, graded)] if chosen else []
    height, width, channels = result.shape
    shape = {"width": width, "height": height, "channels": channels}
    record = {"ok": True, "path": target, **shape, "key": key, "seed": seed, "pixels": pixel_digest(result)}
    put_result(record | {"notes": notes}, as_json=as_json)


def _calibration_note(shape: tuple[int, ...], corruptions: Sequence[str]) -> str:
    """Return a note that says which calibration was chosen for an image of shape (H, W, C), and why."""
    from ..corruptions.calibrations import for_shape, with_fallback

    table = with_fallback(for_shape(*shape))
    names = dict.fromkeys(table.of(corruption).name for corruption in corruptions)
    grey = " and the image is grey" if table.name == "mnist" else ""
    return (
        f"The calibration {' and '.join(names)} was chosen, because the shorter side is {min(shape[:2])} pixels{grey}. "
        "To choose another calibration, pass --calibration or --recipe."
    )


def _refuse_textures(name: str) -> None:
    """Raise `ParameterError` unless the corruption uses textures. Only frost does."""
    from ..corruptions.registry import corruption_names, get_corruption

    if name not in corruption_names() or "textures" not in get_corruption(name).resources:
        raise ParameterError(
            f"--frost-textures can only be used with the corruption frost, but NAME is {name!r}. Pass frost and its "
            "--severity, or leave the option out."
        )


def default_name(image: str, name: str, severity: float | None) -> Path:
    """Return the default file name of a corrupted image.

    Examples
    --------
    >>> print(default_name("photos/cat.jpg", "fog", 3), default_name("sample:astronaut", "fog/3", None))
    cat-fog-3.png astronaut-fog-3.png
    """
    stem = image.removeprefix("sample:") if image.startswith("sample:") else Path(image).stem
    strength = [] if severity is None else [f"{severity:g}"]
    return Path("-".join([stem, name.replace("/", "-"), *strength]) + ".png")


# The argument names of `corrupt` that do not name parameters of a corruption.
_RESERVED = set("image name severity level calibration ladder scale coupling seed key surrogate label labels".split())


def parse_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Parse texts of the form ``NAME=VALUE``. Values are numbers, booleans, words or the names of ``.npy`` files.

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
            raise ParameterError(f"--param {text!r}: {name!r} is not a parameter. It has a separate option.")
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
    from ..generate.recipes.two_factor import parse_value

    number = parse_value(text)
    return text if isinstance(number, float) and not math.isfinite(number) else number


def preview(
    image: InputImage = "sample:astronaut",
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="RECIPE",
            rich_help_panel=SETS,
            autocompletion=completion.recipes,
            help="The recipe whose sets, calibration and preprocessing are shown. The default depends on the size of "
            "the image.",
        ),
    ] = None,
    sets: Sets = None,
    calibration: Calibration = None,
    coupling: Coupling = "independent",
    scale: Scale = None,
    frost_textures: FrostTextures = None,
    plugins: Plugins = None,
    seed: Seed = 0,
    key: Key = None,
    regions: Annotated[
        bool,
        typer.Option(
            "--regions",
            rich_help_panel=SETS,
            help="For a recipe that cuts regions from images, show regions instead of sets. For each region size, the "
            "sheet shows one region, its eight neighbours, and nine regions that are two pixels smaller.",
        ),
    ] = False,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", rich_help_panel=OUTPUT, help="The contact sheet to write (.png)."),
    ] = Path("preview.png"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a contact sheet that shows one image under every corruption at every severity.

    By default, the recipe depends on the short side of the image. It is mnist-c for grey images of up to 28 pixels,
    cifar10-c up to 48, tiny-imagenet-c up to 96, and imagenet-c-all for larger images. Without --sets, gradual
    degradations are shown at levels 1, 5, 10 and so on.
    """
    from .. import preview as run

    with progress_of("preview") as progress:
        sheet = run(
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
    names = {"sets": list(sheet.images)} if sheet.images else {}
    record = {"ok": True, "path": str(sheet.path), "recipe": sheet.recipe, **names}
    put_result(record | {"key": sheet.key, "seed": sheet.seed}, as_json=as_json)


def check_corruption(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completion.corruptions,
            help="A corruption of corruptset or of a plugin.",
        ),
    ],
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="A parameter of a corruption that has no severity table. The default is the middle of its bounds. Can "
            "be repeated.",
        ),
    ] = None,
    large: Annotated[bool, typer.Option("--large/--no-large", help="Also check one image of 4000x6000 pixels.")] = True,
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Check that a corruption meets the requirements of corruptset.

    A corruption must be deterministic and independent of batching, and must accept images of any size. It must return
    uint8 images, and its random draws must depend only on the seed, the parameters and the key of the image. One
    sentence is printed for each failure, and the exit code is then 1.
    """
    from .. import check_corruption as run

    checked = run(name, parameters=parse_parameters(param or ()), plugins=plugins, large=large)
    record = {"ok": checked.ok, **vars(checked), "seconds": round(checked.seconds, 6) if checked.ok else None}
    if as_json or checked.ok:
        put_result(record, as_json=as_json)
    else:
        say("\n".join(checked.failures), style="red")
    raise typer.Exit(0 if checked.ok else 1)
