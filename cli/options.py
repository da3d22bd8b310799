"""Options: how a command declares them, those that several share, and those of `BuildOptions`."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from ..generate.plan.options import BuildOptions
from ..signatures import sentences
from . import completion
from .hints import is_setting

Declared = dict[str, tuple[Any, Any]]
"""Parameter -> its annotation with the option, and its default."""
Command = Callable[..., None]
EXAMPLE = "corruptset build 'pairs?first-stages=fog,rotate&second-stages=gaussian_noise&severities=1,3,5'"
SAID = sentences(BuildOptions)
"""Field of `BuildOptions` -> its sentence in every help."""
LISTED, REPEATED = " Repeated, or separated by commas.", " Can be repeated."


def option(words: str, help: str | None = None, default: Any = ..., **more: Any) -> Any:
    """Return an option written as names and what stands for its value, ``--out -o DIR``.

    Without a default it is required.
    """
    names = [word for word in words.split() if word.startswith("-")]
    value = [word for word in words.split() if word not in names]
    return typer.Option(default, *names, metavar=" ".join(value) or None, help=help, **more)


def argument(name: str, help: str, default: Any = ..., **more: Any) -> Any:
    """Return an argument, with the name that it has in the help."""
    return typer.Argument(default, metavar=name, help=help, **more)


def split_globs(given: Iterable[str] | None) -> list[str] | None:
    """Return patterns that are repeated or separated by commas; None where there are none.

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
    """Return a whole number, ``"all"`` or None; refuse any other text."""
    if text is None or text == "all":
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither a whole number nor 'all'.")


def numbers(text: str | None) -> list[int] | None:
    """Return the numbers of a list such as ``1,3,5`` or ``1-5``; refuse any other text.

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
    pairs = f" The corruptions that come first in pairs are given by --first-stages: {EXAMPLE}" * text[:1].isalpha()
    raise typer.BadParameter(f"{text!r}: expected one number of samples, at least 1.{pairs}")


FinishedBuild = Annotated[
    Path, argument("DIR", "The directory of a finished build (the one that holds manifest.json).")
]
AsJson = Annotated[bool, option("--json", "Print one JSON object on standard output and nothing else there.")]
_SOURCE = option(
    "--source SOURCE",
    "Where images come from: 'sample' (eight photographs, the default), 'folder:PATH', 'imagenet:PATH', "
    "'cifar10:PATH', ...",
    autocompletion=completion.sources,
)
Source = Annotated[str, _SOURCE]
OptionalSource = Annotated[str | None, _SOURCE]
OriginalSource = Annotated[
    str | None,
    option(
        "--source SOURCE",
        "Where the samples came from, to make them again; not needed for 'sample'.",
        autocompletion=completion.sources,
    ),
]
Force = Annotated[bool, option("--force", "Overwrite the output file if it exists.")]

Seed = Annotated[int, option("--seed N", SAID["seed"])]
Jobs = Annotated[int | None, option("--jobs -j N", SAID["jobs"], min=1)]
Sets = Annotated[
    list[str] | None, option("--sets GLOB", SAID["sets"] + LISTED, autocompletion=completion.sets, callback=split_globs)
]
Samples = Annotated[int | None, option("--samples N", SAID["samples"], min=1)]
Calibration = Annotated[
    str | None, option("--calibration NAME", SAID["calibration"], autocompletion=completion.calibrations)
]
Coupling = Annotated[Literal["independent", "severity"], option("--coupling", SAID["coupling"])]
Scale = Annotated[Literal["none", "side"] | None, option("--scale", SAID["scale"])]
FrostTextures = Annotated[Path | None, option("--frost-textures DIR", SAID["frost_textures"])]
AnyShape = Annotated[bool, option("--any-shape", SAID["any_shape"])]
Plugins = Annotated[list[str] | None, option("--plugin MODULE", SAID["plugins"] + REPEATED)]


class _Build:
    """How the command line writes the fields of `BuildOptions`, in the order of the help."""

    seed: Seed
    jobs: Jobs
    sets: Sets
    samples: Samples
    first: Annotated[int | None, option("--first N", parser=first_samples)]
    per_class: Annotated[int | None, option("--per-class N", min=1)]
    ids: Annotated[Path | None, option("--ids FILE")]
    per_super_category: Annotated[str | None, option("--per-super-category FILE")]
    storage: Annotated[Literal["folder", "hdf5", "both"] | None, option("--storage")]
    encoding: Annotated[str | None, option("--encoding png|jpeg[:QUALITY]")]
    optimize: Annotated[bool, option("--optimize")]
    skip_bad: Annotated[bool, option("--skip-bad")]
    calibration: Calibration
    coupling: Coupling
    scale: Scale
    metrics: Annotated[str | None, option("--metrics N|all", callback=count_or_all)]
    labels: Annotated[Path | None, option("--labels LABELS")]
    split: Annotated[Literal["test", "train", "all"] | None, option("--split")]
    groups: Annotated[str | None, option("--groups GROUPS")]
    hold_out: Annotated[list[str] | None, option("--hold-out group=NAME")]
    train: Annotated[bool, option("--train")]
    images: Annotated[str | None, option("--images NAME|PATTERN")]
    frost_textures: FrostTextures
    surrogate: Annotated[Path | None, option("--surrogate FILE")]
    device: Annotated[str | None, option("--device DEVICE")]
    surrogate_batch: Annotated[int | None, option("--surrogate-batch N", min=1)]
    view: Annotated[str | None, option("--view VIEW", autocompletion=completion.views)]
    any_shape: AnyShape
    store: Annotated[Literal["images", "table"] | None, option("--store")]
    page: Annotated[bool, option("--page/--no-page")]
    plugins: Plugins
    disjoint_from: Annotated[list[Path] | None, option("--disjoint-from DIR")]
    scheduler: Annotated[str | None, option("--scheduler ADDRESS")]


class _Pairs:
    """The options of the recipe ``pairs``."""

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


def options_of(group: type) -> Declared:
    """Return the options of a class body, with sentences and defaults of `BuildOptions`."""
    defaults = {field.name: field.default for field in dataclasses.fields(BuildOptions)}
    options = {}
    for name, annotation in get_type_hints(group, include_extras=True).items():
        kind, info = get_args(annotation)
        info = copy.copy(info)  # other commands share it, and show it in their help
        info.help = info.help or SAID[name] + REPEATED * ("list[" in str(kind))
        info.hidden = is_setting(name)
        options[name] = Annotated[kind, info], None if defaults[name] == () else defaults[name]
    return options


def declared(group: type) -> Declared:
    """Return the options that a class body declares with their words."""
    return {name: (kind, vars(group)[name]) for name, kind in get_type_hints(group, include_extras=True).items()}


BUILD_OPTIONS = options_of(_Build)
ALONE = ("disjoint_from", "scheduler")
"""Options of `build` that `plan` has not."""
PLAN_OPTIONS = {name: declared for name, declared in BUILD_OPTIONS.items() if name not in ALONE}
PAIR_OPTIONS = declared(_Pairs)
for _, info in PAIR_OPTIONS.values():
    info.hidden = True
# Field of `RemakeOptions` -> option and default: but for the source those of a build.
_AGAIN = ("labels", "images", "groups", "frost_textures", "surrogate", "device", "plugins", "jobs")
REMAKE_OPTIONS: Declared = {"source": (OriginalSource, None)} | {name: BUILD_OPTIONS[name] for name in _AGAIN}


def with_options(added: Declared) -> Callable[[Command], Command]:
    """Give a command many options in place of its ``**`` parameter.

    They stand before the last of the others.
    """

    def decorate(command: Command) -> Command:
        *first, last, _ = inspect.signature(command, eval_str=True).parameters.values()
        set_parameters(command, [*first, *as_parameters(added), last])
        return command

    return decorate


def as_parameters(options: Declared) -> list[inspect.Parameter]:
    """Return options as parameters of a function."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def set_parameters(command: Command, parameters: list[inspect.Parameter]) -> None:
    """Have typer see these parameters as a command's."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
