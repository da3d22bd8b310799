"""`corruptset export` and `corruptset page`: a finished data set in the layout that a loader opens, and its page made
again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..quantities import size
from . import completion
from .options import REMAKE_OPTIONS, AnyShape, AsJson, FinishedBuild, Sets, argument, option, with_options
from .output import progress_of, put, put_json, put_notes


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
    """Write a finished data set in the exact layout that a loader opens: image folders, arrays, tars, lists.

    Images are hard links to the build's files where that can be, and decode to the very same pixels everywhere.
    """
    # with --layout, the only argument is the directory
    chosen, build = (view, directory) if layout is None else (layout, Path(view))
    if build is None or (layout is not None and directory is not None):
        first = "VIEW" if layout is None else "--layout FILE"
        raise typer.BadParameter(f"expected {first}, and then one DIR, the directory of a finished build.")
    with progress_of("export") as progress:
        from ..generate.views.export import export as run

        done = run(
            chosen,
            build,
            out,
            sets=sets,
            severities=severities,
            images=images,
            allow_missing_classes=allow_missing_classes,
            any_shape=any_shape,
            progress=progress,
        )
    if as_json:
        return put_json({"ok": True, **vars(done)})
    links = f", {done.linked} of them hard links to the build's files" if done.linked else ""
    put(f"{done.images} images, {size(done.bytes)}{links}")
    put_notes(done.notes)
    put(f"Path:   {done.top}")
    put(f"Digest: {done.digest}")


@with_options({name: REMAKE_OPTIONS[name] for name in ("source", "labels", "images", "groups")})
def page(
    directory: FinishedBuild,
    out: Path | None = option("--out -o FILE", "Write the page there, and leave the data set as it is.", None),
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Make the page of a finished data set, index.html: what it is, every set with pictures and curves, how to load it.

    A build has one already, unless it was made with --no-page. The data set's digest stays.
    """
    with progress_of("page") as progress:
        from ..generate.reproduction.page import page as make_page

        made = make_page(directory, out=out, progress=progress, **given)
    if as_json:
        return put_json(
            {"ok": True, "page": str(made.path), "bytes": made.bytes, "clean": made.clean, "digest": made.digest}
        )
    if not made.clean:
        put_notes(["it shows no clean images: the data set stores none, and no --source was named"])
    put(f"Page:   {made.path} ({size(made.bytes)})")
    put(f"Digest: {made.digest}")
