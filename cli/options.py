"""Options that several commands share, with their help texts, panels and parsers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from . import completion

SOURCE, SELECTION, SETS, OUTPUT, MODEL, MACHINE = "Source", "Selection of images", "Sets", "Output", "Model", "Machine"
"""The titles of the panels in a command's help text."""


def split_list(given: Iterable[str] | None) -> list[str] | None:
    """Return all items of an option that can be repeated, and whose values are comma-separated lists.

    Examples
    --------
    >>> split_list(["fog/*, snow/1", "clean"])
    ['fog/*', 'snow/1', 'clean']
    >>> split_list(None) is split_list([]) is None
    True
    """
    texts = list(given or ())
    items = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if texts and not items:
        raise typer.BadParameter(f"{texts[0]!r} is empty. Leave the option out, or give a name such as 'fog/*'.")
    return items or None


def count_or_all(text: str) -> int | Literal["all"]:
    """Parse a whole number or ``"all"``. Raise `typer.BadParameter` for any other text."""
    if text == "all":
        return "all"
    if text.isascii() and text.isdigit():
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither a whole number nor 'all'.")


def numbers(text: str) -> list[int]:
    """Parse a list of numbers such as ``1,3,5`` or ``1-5``. Raise `typer.BadParameter` for any other text.

    Examples
    --------
    >>> numbers("1,3-5")
    [1, 3, 4, 5]
    """
    values: list[int] = []
    for part in text.split(","):
        bounds = re.fullmatch("([0-9]+)(?:-([0-9]+))?", part.strip())
        if bounds is None:
            raise typer.BadParameter(f"{text!r} is not a list of whole numbers such as '1,3,5' or '1-5'.")
        values += range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)
    return list(dict.fromkeys(values))


FinishedBuild = Annotated[
    Path, typer.Argument(metavar="DIR", help="The directory of a finished dataset, which contains manifest.json.")
]
AsJson = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object on standard output and nothing else."),
]
Force = Annotated[bool, typer.Option("--force", rich_help_panel=OUTPUT, help="Overwrite the output file if it exists.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE",
        rich_help_panel=SETS,
        help="A Python module or file (.py) that defines corruptions. Its code is executed. Can be repeated.",
    ),
]

# The source of images.

Source = Annotated[
    str | None,
    typer.Option(
        metavar="SOURCE",
        rich_help_panel=SOURCE,
        show_default="sample, eight photographs",
        autocompletion=completion.sources,
        help="The source of images: folder:PATH, imagenet:PATH, cifar10:PATH and others (`corruptset list sources`).",
    ),
]
OriginalSource = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="SOURCE",
        rich_help_panel=SOURCE,
        autocompletion=completion.sources,
        help="The source that the dataset was built from, such as folder:PATH. Not needed if the dataset was built "
        "from the built-in source `sample`.",
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        metavar="LABELS",
        rich_help_panel=SOURCE,
        help="The labels. For folder, a CSV file (file,label). For imagenet, the devkit or a list. For cifar100, fine "
        "or coarse. For hdf5, the name of a dataset. For parquet, the name of a column. For webdataset, a key of the "
        ".json files.",
    ),
]
ImageNames = Annotated[
    str | None,
    typer.Option(
        "--images",
        metavar="NAME",
        rich_help_panel=SOURCE,
        help="For hdf5, the name of the dataset of images. For parquet, the name of the column of images. For "
        "webdataset, the file extension of the image to use, such as left.jpg. For tree, a pattern such as "
        "'val2017/*.jpg' that selects the image files. All other files are copied.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="GROUPS",
        rich_help_panel=SOURCE,
        help="The groups of images. For folder and imagenet, a CSV file (file,group). For icons50, style or subtype.",
    ),
]
Split = Annotated[
    Literal["test", "train", "val", "all"] | None,
    typer.Option(
        rich_help_panel=SOURCE,
        help="The split of cifar10, cifar100 or mnist (test by default), of tiny-imagenet (val by default), or of a "
        "folder of Parquet files.",
    ),
]
AnyShape = Annotated[
    bool,
    typer.Option(
        "--any-shape",
        rich_help_panel=SELECTION,
        help="Accept images of any size and number of channels, even if the recipe or layout expects others.",
    ),
]

# The selection of images.

Samples = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, rich_help_panel=SELECTION, help="Take only N images, spread over the source."),
]
First = Annotated[
    int | None, typer.Option(metavar="N", min=1, rich_help_panel=SELECTION, help="Take only the first N images.")
]
PerClass = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, rich_help_panel=SELECTION, help="Take only the first N images of each class."),
]
Ids = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=SELECTION,
        help="Take only the images whose ids are listed in a text file, one per line.",
    ),
]
PerSuperCategory = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=SELECTION,
        help="Take the first images of each super-category. A file (.toml) defines the classes in each super-category "
        "and the number of images. The name fragile-imagenet selects a file that comes with corruptset.",
    ),
]
HoldOut = Annotated[
    list[str] | None,
    typer.Option(
        metavar="group=NAME",
        rich_help_panel=SELECTION,
        help="Take only the images of this group, which is held out of training. Patterns are allowed. Can be "
        "repeated.",
    ),
]
Train = Annotated[
    bool,
    typer.Option(
        "--train",
        rich_help_panel=SELECTION,
        help="Take the images of all groups that are not held out, as a training set.",
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        rich_help_panel=SELECTION,
        help="Leave out images that cannot be used and record them, instead of stopping before anything is written.",
    ),
]
DisjointFrom = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        rich_help_panel=SELECTION,
        help="Fail if an image is also in this finished dataset, such as a test set. Can be repeated.",
    ),
]

# The sets.

Sets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        rich_help_panel=SETS,
        autocompletion=completion.sets,
        callback=split_list,
        help="Take only these sets. Give set ids (clean), aliases, or patterns ('fog/*'). Repeat the option, or "
        "separate names with commas.",
    ),
]
FirstStages = Annotated[
    list[str] | None,
    typer.Option(
        metavar="STAGES",
        rich_help_panel=SETS,
        autocompletion=completion.corruptions,
        callback=split_list,
        help="With the recipe `pairs`: the corruptions that come first, such as fog, fog-3, or a name with parameters "
        "(ro030=rotate:angle_deg=30). Repeat the option, or separate the corruptions with commas.",
    ),
]
SecondStages = Annotated[
    list[str] | None,
    typer.Option(
        metavar="STAGES",
        rich_help_panel=SETS,
        autocompletion=completion.corruptions,
        callback=split_list,
        help="With the recipe `pairs`: the corruptions that come second.",
    ),
]
Severities = Annotated[
    Sequence[int] | None,
    typer.Option(
        metavar="LIST",
        rich_help_panel=SETS,
        parser=numbers,
        help="With a recipe of pairs (`pairs`, `two-factor-imagenet-c`): the severities of both stages, in all "
        "combinations. Examples: '3', '1,3,5', '1-5'.",
    ),
]
Levels = Annotated[
    Sequence[int] | None,
    typer.Option(
        metavar="LIST",
        rich_help_panel=SETS,
        parser=numbers,
        help="With the recipe `pairs`: the levels of gradual degradations.",
    ),
]
Orders = Annotated[
    Literal["both", "given"] | None,
    typer.Option(
        rich_help_panel=SETS,
        help="With the recipe `pairs`: whether to apply the two stages in both orders (both, the default) or only with "
        "the first stage first (given).",
    ),
]
Calibration = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=SETS,
        autocompletion=completion.calibrations,
        help="The severity table to use instead of the recipe's: imagenet, inception, tiny, cifar, mnist, or a file "
        "(.toml).",
    ),
]
Coupling = Annotated[
    Literal["independent", "severity"],
    typer.Option(
        metavar="NAME",
        rich_help_panel=SETS,
        help="Whether each severity has its own random draws (independent), or all severities share them (severity).",
    ),
]
Scale = Annotated[
    Literal["none", "side"] | None,
    typer.Option(
        rich_help_panel=SETS,
        help="Whether parameters that are lengths in pixels are taken unchanged from the severity table (none), or "
        "scaled with the short side of the image (side). The default is that of the recipe.",
    ),
]
FrostTextures = Annotated[
    Path | None,
    typer.Option(metavar="DIR", rich_help_panel=SETS, help="A folder with your own textures for frost."),
]
Seed = Annotated[int, typer.Option(metavar="N", rich_help_panel=SETS, help="The random seed, from 0 to 2**53 - 1.")]

# The output.

DatasetFolder = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        rich_help_panel=OUTPUT,
        help="The dataset is written to DIR/<recipe>-<version>.",
    ),
]
Storage = Annotated[
    Literal["folder", "hdf5", "both"] | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=OUTPUT,
        help="Store images as files in folders (folder), in HDF5 shards (hdf5) or in both. The default is that of the "
        "recipe.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=OUTPUT,
        help="Encode images as png, jpeg or jpeg:QUALITY, such as jpeg:95. The default is that of the recipe. The "
        "value jpeg uses the recipe's JPEG settings, or quality 85 if the recipe stores PNG.",
    ),
]
Optimize = Annotated[
    bool,
    typer.Option(
        "--optimize",
        rich_help_panel=OUTPUT,
        help="Write smaller JPEG files with the same pixels (optimised Huffman tables), which takes longer.",
    ),
]
Store = Annotated[
    Literal["images", "table"] | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        help="For a recipe with regions, store each region as an image, or whole images and a table of regions.",
    ),
]
Metrics = Annotated[
    int | None,  # The value can also be "all", but Typer does not support this union.
    typer.Option(
        metavar="N|all",
        parser=count_or_all,
        rich_help_panel=OUTPUT,
        help="The number of images on which PSNR, SSIM and changed pixels are measured. These are the first images by "
        "id. The default is 64, and 0 disables the measurement.",
    ),
]
Page = Annotated[
    bool,
    typer.Option("--page/--no-page", rich_help_panel=OUTPUT, help="Write the page index.html of the dataset."),
]

# The model whose gradients pgd and model_gradient follow.

Surrogate = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=MODEL,
        help="The model file (.toml) for the sets of pgd and model_gradient, instead of the recipe's. docs/models.md "
        "describes the format.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="DEVICE", rich_help_panel=MODEL, help="The device of the model: cpu (default), cuda, cuda:1."),
]
SurrogateBatch = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        rich_help_panel=MODEL,
        help="The batch size of the model. Only batch size 1, the default, gives bytes that do not depend on the order "
        "of the images.",
    ),
]

# The machine.

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        rich_help_panel=MACHINE,
        help="The number of worker processes, by default one per core. The result does not depend on it.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=MACHINE,
        help="The address of a Dask scheduler, such as tcp://host:8786, whose workers build the parts. They need this "
        "version of corruptset, and access to the source and the output.",
    ),
]
