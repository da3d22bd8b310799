"""Options that several commands share, each described once; those of a build, of pairs and of what is made again as one
mapping.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from . import completion

EXAMPLE = "corruptset build pairs --first-stages fog,rotate --second-stages gaussian_noise --severities 1,3,5"


def option(words: str, help: str, default: Any = ..., **more: Any) -> Any:
    """Return an option as it is written: its names, and what stands for its value, ``--out -o DIR``; required without a
    default.
    """
    names = [word for word in words.split() if word.startswith("-")]
    value = [word for word in words.split() if word not in names]
    return typer.Option(default, *names, metavar=" ".join(value) or None, help=help, **more)


def argument(name: str, help: str, default: Any = ..., **more: Any) -> Any:
    """Return an argument, with the name that it has in the help."""
    return typer.Argument(default, metavar=name, help=help, **more)


def split_globs(given: Iterable[str] | None) -> list[str] | None:
    """Return the patterns of ``--sets``, repeated or separated by commas; None where the option was not given.

    Examples
    --------
    >>> split_globs(["fog/*, snow/1", "clean"])
    ['fog/*', 'snow/1', 'clean']
    >>> split_globs(None) is split_globs([]) is None
    True
    """
    texts = list(given or ())
    globs = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if texts and not globs:
        raise typer.BadParameter(f"{texts[0]!r} names nothing. Leave it out, or name something, such as 'fog/*'.")
    return globs or None


def count_or_all(text: str | None) -> int | str | None:
    """Return a whole number, ``"all"`` or None; anything else is a user's mistake."""
    if text is None or text == "all":
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither a whole number nor 'all'.")


def numbers(text: str | None) -> list[int] | None:
    """Return the numbers of a list such as ``1,3,5`` or ``1-5``; anything else is a user's mistake.

    Examples
    --------
    >>> numbers("1,3-5")
    [1, 3, 4, 5]
    """
    if text is None:
        return None
    values: list[int] = []
    for part in text.split(","):
        bounds = re.fullmatch("([0-9]+)(?:-([0-9]+))?", part.strip())
        if bounds is None:
            raise typer.BadParameter(f"{text!r} is not a list of whole numbers such as '1,3,5' or '1-5'.")
        values += range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)
    return list(dict.fromkeys(values))


def first_samples(text: str) -> int:
    """Return the number of samples that ``--first`` asks for."""
    if text.isascii() and text.isdigit() and int(text):
        return int(text)
    pairs = (
        f" The corruptions that come first in pairs are given by --first-stages: {EXAMPLE}"
        if text[:1].isalpha()
        else ""
    )
    raise typer.BadParameter(f"{text!r}: expected one number of samples, at least 1.{pairs}")


FinishedBuild = Annotated[
    Path, argument("DIR", "The directory of a finished build (the one that holds manifest.json).")
]
AsJson = Annotated[bool, option("--json", "Print one JSON object on standard output and nothing else there.")]
Source = Annotated[
    str,
    option(
        "--source SOURCE",
        "Where images come from: 'sample' (eight photographs), 'folder:PATH', 'imagenet:PATH', 'cifar10:PATH', ...",
        autocompletion=completion.sources,
    ),
]
OriginalSource = Annotated[
    str | None,
    option(
        "--source SOURCE",
        "Where the samples came from, to make them again; not needed for 'sample'.",
        autocompletion=completion.sources,
    ),
]
Labels = Annotated[
    Path | None,
    option(
        "--labels LABELS",
        "Where labels come from: for a flat folder a CSV (file,label); for imagenet the devkit or a list; for cifar100 "
        "fine or coarse; for hdf5 a dataset.",
    ),
]
Groups = Annotated[
    str | None,
    option(
        "--groups GROUPS",
        "What groups the images have: for folder and imagenet a CSV (file,group); for icons50 style (the default) or "
        "subtype.",
    ),
]
Images = Annotated[
    str | None,
    option(
        "--images NAME|PATTERN",
        "For hdf5 the dataset of images, by default images; for tree which files are images: 'val2017/*.jpg'.",
    ),
]
Seed = Annotated[int, option("--seed N", "What random draws start from: 0 to 2**53 - 1.")]
Jobs = Annotated[int | None, option("--jobs -j N", "Worker processes; by default one a core.", min=1)]
Sets = Annotated[
    list[str] | None,
    option(
        "--sets GLOB",
        "Only these sets: ids, aliases or patterns such as 'fog/*'; repeated, or separated by commas.",
        autocompletion=completion.sets,
        callback=split_globs,
    ),
]
Samples = Annotated[int | None, option("--samples N", "Only N samples, spread evenly over the source's order.", min=1)]
Calibration = Annotated[
    str | None,
    option(
        "--calibration NAME",
        "The table of severities: imagenet, inception, tiny, cifar, mnist, or a table file (.toml).",
        autocompletion=completion.calibrations,
    ),
]
Coupling = Annotated[
    Literal["independent", "severity"],
    option("--coupling", "'independent': every severity draws anew; 'severity': severities share their draws."),
]
Scale = Annotated[
    Literal["none", "side"] | None,
    option("--scale", "'none': lengths as in the table; 'side': lengths grow with the image's short side."),
]
FrostTextures = Annotated[Path | None, option("--frost-textures DIR", "Your own frost textures.")]
AnyShape = Annotated[
    bool,
    option(
        "--any-shape", "Take images of any size and channels, also where the recipe or the view is made for others."
    ),
]
Plugins = Annotated[
    list[str] | None,
    option(
        "--plugin MODULE", "A module with corruptions of your own, or its file (.py). Its code is run. Can be repeated."
    ),
]
Force = Annotated[bool, option("--force", "Overwrite the output file if it exists.")]


class _Build:
    """The fields of `BuildOptions`, in the order of the help; a test compares names and defaults."""

    seed: Seed = 0
    jobs: Jobs = None
    sets: Sets = None
    samples: Samples = None
    first: int | None = option("--first N", "Only the first N samples of the source.", None, parser=first_samples)
    per_class: int | None = option("--per-class N", "Only the first N samples of every class.", None, min=1)
    ids: Path | None = option("--ids FILE", "Only the samples that this text file names, one id a line.", None)
    per_super_category: str | None = option(
        "--per-super-category FILE",
        "Only the first samples of every super-category, as many as FILE says (.toml); fragile-imagenet comes with "
        "corruptset.",
        None,
    )
    format: Literal["folder", "hdf5", "both"] | None = option(
        "--format", "Image folders, HDF5 shards or both; by default what fits the size (plan says).", None
    )
    optimize: bool = option("--optimize", "Smaller JPEG files (the same pixels), written more slowly.", False)
    skip_bad: bool = option(
        "--skip-bad", "Build without images that cannot be used, and record them in the manifest.", False
    )
    calibration: Calibration = None
    coupling: Coupling = "independent"
    scale: Scale = None
    metrics: str | None = option(
        "--metrics N|all",
        "How many images PSNR, SSIM and changed pixels are measured on; by default 64.",
        None,
        callback=count_or_all,
    )
    labels: Labels = None
    split: Literal["test", "train", "all"] | None = option(
        "--split", "Of cifar10, cifar100 and mnist; by default test.", None
    )
    groups: Groups = None
    hold_out: list[str] | None = option(
        "--hold-out group=NAME",
        "Only the images of this group, which is held out of training; a pattern will do, and it can be repeated.",
        None,
    )
    train: bool = option(
        "--train",
        "With --hold-out or a recipe that has one: only the images of all other groups; the sets' role is train.",
        False,
    )
    images: Images = None
    frost_textures: FrostTextures = None
    surrogate: Path | None = option(
        "--surrogate FILE", "The file (.toml) of the model whose gradients pgd and model_gradient follow.", None
    )
    device: str | None = option("--device DEVICE", "Where the model computes: cpu (the default) or cuda.", None)
    surrogate_batch: int | None = option(
        "--surrogate-batch N",
        "Images that the model takes at once; only 1, the default, gives the same bytes in any order.",
        None,
        min=1,
    )
    view: str | None = option(
        "--view VIEW",
        "Write the images straight in a loader's layout: cifar-c, imagenet-c, tiny-imagenet-c, mnist-c, imagefolder, "
        "openood, "
        "flageval, source-tree.",
        None,
        autocompletion=completion.views,
    )
    any_shape: AnyShape = False
    store: Literal["images", "table"] | None = option(
        "--store",
        "Of a recipe with regions: each region as an image, or the whole images and a table of regions; by default "
        "what plan says.",
        None,
    )
    page: bool = option("--page/--no-page", "Write index.html, which shows what was built.", True)
    plugins: Plugins = None


class _Pairs:
    """What the recipe `pairs` is made of."""

    first_stages: list[str] | None = option(
        "--first-stages STAGES",
        "With the recipe 'pairs': the corruptions that come first: 'fog', 'fog-3', or a name and parameters, "
        "'ro030=rotate:angle_deg=30'; repeated, or separated by commas.",
        None,
        autocompletion=completion.corruptions,
        callback=split_globs,
    )
    second_stages: list[str] | None = option(
        "--second-stages STAGES",
        "With the recipe 'pairs': the corruptions that come second, as --first-stages.",
        None,
        autocompletion=completion.corruptions,
        callback=split_globs,
    )
    severities: str | None = option(
        "--severities LIST", "Of a recipe's pairs, in all combinations: '3', '1,3,5' or '1-5'.", None, callback=numbers
    )
    levels: str | None = option(
        "--levels LIST", "With the recipe 'pairs': of gradual degradations.", None, callback=numbers
    )
    orders: Literal["both", "given"] | None = option(
        "--orders", "With the recipe 'pairs': also second before first, or not; by default both.", None
    )


def options_of(group: type) -> dict[str, tuple[Any, Any]]:
    """Return the options that a class body declares: name -> annotation and default."""
    return {name: (kind, vars(group)[name]) for name, kind in get_type_hints(group, include_extras=True).items()}


BUILD_OPTIONS = options_of(_Build)
PAIR_OPTIONS = options_of(_Pairs)
# Field of `RemakeOptions` -> option and default: but for the source those of a build.
_AGAIN = ("labels", "images", "groups", "frost_textures", "surrogate", "device", "plugins", "jobs")
REMAKE_OPTIONS: dict[str, tuple[Any, Any]] = {"source": (OriginalSource, None)} | {
    name: BUILD_OPTIONS[name] for name in _AGAIN
}


def with_options(added: Mapping[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command many options in place of its ``**`` parameter, before the last of the others."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        *first, last, _ = inspect.signature(command, eval_str=True).parameters.values()
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        more = [
            inspect.Parameter(name, kind, default=default, annotation=option)
            for name, (option, default) in added.items()
        ]
        parameters = [*first, *more, last]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate
