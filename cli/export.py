"""The commands `corruptset export` and `corruptset page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .options import (
    OUTPUT,
    AnyShape,
    AsJson,
    FinishedBuild,
    Groups,
    ImageNames,
    Labels,
    OriginalSource,
    Sets,
)
from .output import progress_of
from .records import fields_of, put_result


def export(
    layout: Annotated[
        str,
        typer.Argument(
            metavar="LAYOUT",
            autocompletion=completion.layouts,
            help="cifar-c, imagenet-c, imagenet-c-5k, tiny-imagenet-c, mnist-c, webdataset, imagefolder, openood, "
            "flageval, source-tree or croissant.",
        ),
    ],
    directory: FinishedBuild,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            rich_help_panel=OUTPUT,
            help="A new or empty folder for the export. VIEW.json, which verify reads, is written into it too.",
        ),
    ],
    sets: Sets = None,
    severities: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file for datasets whose sets do not have the severities 1 to 5. It assigns sets to each "
            "corruption name of the layout: one set for mnist-c, and five for other layouts.",
        ),
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--list", metavar="FILE", help="For imagenet-c-5k: a file with the image names.")
    ] = None,
    allow_missing_classes: Annotated[
        bool,
        typer.Option(
            "--allow-missing-classes",
            help="Export class folders even if some classes have no images. A loader that numbers the folders then "
            "assigns labels that differ from those of the manifest.",
        ),
    ] = False,
    any_shape: AnyShape = False,
    as_json: AsJson = False,
) -> None:
    """Write a finished dataset in the exact layout that a loader expects.

    Layouts consist of image folders, arrays, archives or lists. If possible, image files are hard links to those of
    the dataset. The exported pixels are always identical to those of the dataset.
    """
    from .. import export as run

    with progress_of("export") as progress:
        done = run(
            layout,
            directory,
            out,
            sets=sets,
            severities=severities,
            images=images,
            allow_missing_classes=allow_missing_classes,
            any_shape=any_shape,
            progress=progress,
        )
    put_result(fields_of(done), as_json=as_json)


def page(
    directory: FinishedBuild,
    source: OriginalSource = None,
    labels: Labels = None,
    images: ImageNames = None,
    groups: Groups = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="The HTML file. It must not be inside a dataset. The default is <dataset>.html next to the dataset.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the HTML page of a finished dataset, with images and charts of every corruption.

    The page describes the dataset and shows how to load it. A build already contains this page as index.html, unless
    it was built with --no-page. The dataset is not changed.
    """
    from .. import page as run

    with progress_of("page") as progress:
        made = run(directory, source, labels=labels, images=images, groups=groups, out=out, progress=progress)
    record = {"ok": True, "page": str(made.path), "bytes": made.bytes, "clean": made.clean, "digest": made.digest}
    note = (
        "The page shows no clean images, because the dataset does not store them and no --source was given. To show "
        "them, pass --source."
    )
    put_result(record | {"notes": [] if made.clean else [note]}, as_json=as_json)
