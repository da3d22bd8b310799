"""`corruptset export` and `corruptset page`: a data set in a loader's layout, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from . import completion
from .command import json_of, runs
from .options import REMAKE_OPTIONS, AnyShape, AsJson, FinishedBuild, Sets, argument, option
from .output import progress_of, put_json
from .records import put_record

if TYPE_CHECKING:
    from ..generate.reproduction.page import PageMade


def export(
    view: str = argument(
        "VIEW",
        "cifar-c, imagenet-c, imagenet-c-5k, tiny-imagenet-c, mnist-c, webdataset, imagefolder, openood, flageval, "
        "source-tree or croissant. Left out with --layout.",
        autocompletion=completion.views,
    ),
    directory: Path | None = argument(
        "DIR", "The directory of a finished build (the one that holds manifest.json).", None
    ),
    *,
    out: Path = option("--out -o PATH", "Receives the loader's top folder and VIEW.json; new or empty."),
    layout: Path | None = option("--layout FILE", "A layout of one's own in place of VIEW: a TOML file.", None),
    sets: Sets = None,
    severities: Path | None = option(
        "--severities FILE",
        "For sets that are not at severities 1 to 5: a TOML file that says which five sets a name is.",
        None,
    ),
    images: Path | None = option("--list FILE", "For imagenet-c-5k: the names of its images, one a line.", None),
    allow_missing_classes: bool = option(
        "--allow-missing-classes",
        "Export class folders although classes have no image: labels found by listing then differ from the manifest's.",
        False,
    ),
    any_shape: AnyShape = False,
    as_json: AsJson = False,
) -> None:
    """Write a finished data set in the exact layout that a loader opens.

    Layouts are image folders, arrays, tars and lists.

    Images are hard links to the build's files where that can be, and decode to the very same pixels everywhere.
    """
    # with --layout, the only argument is the directory
    chosen, build = (view, directory) if layout is None else (layout, Path(view))
    if build is None or (layout is not None and directory is not None):
        first = "VIEW" if layout is None else "--layout FILE"
        raise typer.BadParameter(f"expected {first}, and then one DIR, the directory of a finished build.")
    given: dict[str, Any] = {"sets": sets, "severities": severities, "images": images, "any_shape": any_shape}
    with progress_of("export") as progress:
        from ..generate.exports.export import export as run

        done = run(chosen, build, out, allow_missing_classes=allow_missing_classes, progress=progress, **given)
    (put_json if as_json else put_record)(json_of(done))


def _page(made: PageMade) -> dict[str, Any]:
    record = {"ok": True, "page": str(made.path), "bytes": made.bytes, "clean": made.clean, "digest": made.digest}
    none = "it shows no clean images: the data set stores none, and no --source was named"
    return record | {"notes": [] if made.clean else [none]}


@runs({name: REMAKE_OPTIONS[name] for name in ("source", "labels", "images", "groups")}, json=_page)
def page(
    directory: FinishedBuild,
    out: Path | None = option(
        "--out -o FILE",
        "The file of the page, outside of datasets. The default is <dataset>.html next to the dataset.",
        None,
    ),
) -> None:
    """Write the page of a finished dataset, with images and curves of every set, into an HTML file next to it.

    The page says what the dataset is and how to load it. A build already has one, index.html, unless it was made with
    --no-page. The dataset is not changed.
    """
