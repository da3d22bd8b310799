"""Options that several commands share, each described once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from . import completion

DEFAULT_RECIPE = "imagenet-c"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else there.")]
Source = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="SOURCE",
        autocompletion=completion.sources,
        help="Where the images come from: 'sample' (eight photographs, no download), 'folder:PATH', 'imagenet:PATH', 'cifar10:PATH', ...",
    ),
]
OriginalSource = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="SOURCE",
        autocompletion=completion.sources,
        help="Where the samples came from, to make them again; not needed for 'sample'.",
        show_default=False,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="LABELS",
        help="Where labels come from: for a flat folder a CSV (file,label); for imagenet the devkit or a list; for cifar100 "
        "fine or coarse; for hdf5 a dataset.",
        show_default=False,
    ),
]
Split = Annotated[
    Literal["test", "train", "all"] | None,
    typer.Option("--split", help="Of cifar10, cifar100 and mnist; by default test.", show_default=False),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="GROUPS",
        help="What groups the images have: for folder and imagenet a CSV (file,group); for icons50 style (the default) or subtype.",
        show_default=False,
    ),
]
HoldOut = Annotated[
    list[str] | None,
    typer.Option(
        "--hold-out",
        metavar="group=NAME",
        help="Only the images of this group, which is held out of training; a pattern will do, and it can be repeated.",
        show_default=False,
    ),
]
Train = Annotated[
    bool,
    typer.Option("--train", help="With --hold-out or a recipe that has one: only the images of all other groups; the sets' role is train."),
]
Images = Annotated[
    str | None,
    typer.Option("--images", metavar="NAME", help="For hdf5: the dataset of images; by default images.", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="What the random draws start from: 0 to 2**53 - 1.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="Worker processes; by default one a core.", show_default=False)
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--sets",
        metavar="GLOB",
        autocompletion=completion.sets,
        help="Only these sets: ids, aliases or patterns such as 'fog/*'; repeated, or separated by commas.",
        show_default=False,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option("--samples", metavar="N", min=1, help="Only N samples, spread evenly over the source's order.", show_default=False),
]
First = Annotated[
    str | None,
    typer.Option("--first", metavar="N", help="Only the first N samples of the source.", show_default=False),
]
FirstStages = Annotated[
    list[str] | None,
    typer.Option(
        "--first-stages",
        metavar="STAGES",
        autocompletion=completion.corruptions,
        help="With the recipe 'pairs': the corruptions that come first: 'fog', 'fog-3', or a name and parameters, "
        "'ro030=rotate:angle_deg=30'; repeated, or separated by commas.",
        show_default=False,
    ),
]
SecondStages = Annotated[
    list[str] | None,
    typer.Option(
        "--second-stages",
        metavar="STAGES",
        autocompletion=completion.corruptions,
        help="With the recipe 'pairs': the corruptions that come second, as --first-stages.",
        show_default=False,
    ),
]
Severities = Annotated[
    str | None,
    typer.Option(
        "--severities", metavar="LIST", help="Of a recipe's pairs, in all combinations: '3', '1,3,5' or '1-5'.", show_default=False
    ),
]
Levels = Annotated[
    str | None,
    typer.Option("--levels", metavar="LIST", help="With the recipe 'pairs': of gradual degradations.", show_default=False),
]
Orders = Annotated[
    Literal["both", "given"] | None,
    typer.Option("--orders", help="With the recipe 'pairs': also second before first, or not; by default both.", show_default=False),
]
PerClass = Annotated[
    int | None, typer.Option("--per-class", metavar="N", min=1, help="Only the first N samples of every class.", show_default=False)
]
Ids = Annotated[
    Path | None,
    typer.Option("--ids", metavar="FILE", help="Only the samples that this text file names, one id a line.", show_default=False),
]
PerSuperCategory = Annotated[
    str | None,
    typer.Option(
        "--per-super-category",
        metavar="FILE",
        help="Only the first samples of every super-category, as many as FILE says (.toml); fragile-imagenet comes with corruptset.",
        show_default=False,
    ),
]
Format = Annotated[
    Literal["folder", "hdf5", "both"] | None,
    typer.Option("--format", help="Image folders, HDF5 shards or both; by default what fits the size (plan says).", show_default=False),
]
Optimize = Annotated[bool, typer.Option("--optimize", help="Smaller JPEG files (the same pixels), written more slowly.")]
Page = Annotated[bool, typer.Option("--page/--no-page", help="Write index.html, which shows what was built.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Build without images that cannot be used, and record them in the manifest.")]
Calibration = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="NAME",
        autocompletion=completion.calibrations,
        help="The table of severities: imagenet, inception, tiny, cifar, mnist, or a table file (.toml).",
        show_default=False,
    ),
]
Coupling = Annotated[
    Literal["independent", "severity"],
    typer.Option("--coupling", help="'independent': every severity draws anew; 'severity': severities share their draws."),
]
Scale = Annotated[
    Literal["none", "side"] | None,
    typer.Option("--scale", help="'none': lengths as in the table; 'side': lengths grow with the image's short side.", show_default=False),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="N|all",
        help="How many images PSNR, SSIM and changed pixels are measured on; by default 64.",
        show_default=False,
    ),
]
FrostTextures = Annotated[
    Path | None,
    typer.Option("--frost-textures", metavar="DIR", help="Your own frost textures in place of corruptset's.", show_default=False),
]
Surrogate = Annotated[
    Path | None,
    typer.Option(
        "--surrogate",
        metavar="FILE",
        help="The file (.toml) of the model whose gradients pgd and model_gradient follow.",
        show_default=False,
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="DEVICE", help="Where the model computes: cpu (the default) or cuda.", show_default=False)
]
SurrogateBatch = Annotated[
    int | None,
    typer.Option(
        "--surrogate-batch",
        metavar="N",
        min=1,
        help="Images that the model takes at once; only 1, the default, gives the same bytes in any order.",
        show_default=False,
    ),
]
Annotations = Annotated[
    Literal["copy", "link"],
    typer.Option("--annotations", help="Of coco and cityscapes: copy the annotation files, or link them (hard links, where possible)."),
]
AnyShape = Annotated[
    bool,
    typer.Option("--any-shape", help="Take images of any size and channels, also where the recipe or the view is made for others."),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE",
        help="A module with corruptions of your own, or its file (.py). Its code is run. Can be repeated.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]
Store = Annotated[
    Literal["images", "table"] | None,
    typer.Option(
        "--store",
        help="Of a recipe with regions: each region as an image, or the whole images and a table of regions; by default what plan says.",
        show_default=False,
    ),
]
View = Annotated[
    str | None,
    typer.Option(
        "--view",
        metavar="VIEW",
        autocompletion=completion.views,
        help="Write the images straight in a loader's layout: cifar-c, imagenet-c, tiny-imagenet-c, mnist-c, imagefolder, openood, "
        "flageval, source-tree.",
        show_default=False,
    ),
]
DisjointFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--disjoint-from",
        metavar="DIR",
        help="A finished build with which this one must have no sample in common (a test set, for a training set). Can be repeated.",
        show_default=False,
    ),
]


def split_globs(given: Iterable[str] | None) -> list[str] | None:
    """Return the patterns of ``--sets``, repeated or separated by commas; None where none was given.

    Examples
    --------
    >>> split_globs(["fog/*, snow/1", "clean"])
    ['fog/*', 'snow/1', 'clean']
    >>> split_globs(None) is split_globs([]) is None
    True
    """
    globs = [part.strip() for text in given or () for part in text.split(",")]
    return [g for g in globs if g] or None


def count_or_all(text: str | None, option: str) -> int | str | None:
    """Return a whole number, ``"all"`` or None; anything else is a user's mistake."""
    if text is None or text == "all":
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither a whole number nor 'all'.", param_hint=f"'{option}'")


def numbers(text: str | None, option: str) -> list[int] | None:
    """Return the numbers of a list such as ``1,3,5`` or ``1-5``; anything else is a user's mistake.

    Examples
    --------
    >>> numbers("1,3-5", "--severities")
    [1, 3, 4, 5]
    """
    if text is None:
        return None
    values: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not (low.isascii() and low.isdigit() and (not dash or (high.isascii() and high.isdigit()))):
            raise typer.BadParameter(f"{text!r} is not a list of whole numbers such as '1,3,5' or '1-5'.", param_hint=f"'{option}'")
        values += range(int(low), int(high if dash else low) + 1)
    return list(dict.fromkeys(values))
