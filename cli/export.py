"""`corruptset export VIEW DIR`: a finished data set in the layout that a third-party loader opens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..quantities import size
from . import completion
from .options import AnyShape, AsJson, FinishedBuild, Sets, argument, option, split_globs
from .output import progress_of, put, put_json, put_notes


def export(
    view: Annotated[
        str,
        argument(
            "VIEW",
            "cifar-c, imagenet-c, imagenet-c-5k, tiny-imagenet-c, mnist-c, webdataset, imagefolder, openood, flageval, source-tree or "
            "croissant.",
            autocompletion=completion.views,
        ),
    ],
    directory: FinishedBuild,
    out: Annotated[Path, option("--out -o PATH", "Receives the loader's top folder and VIEW.json; new or empty.")],
    sets: Sets = None,
    severities: Annotated[
        Path | None,
        option("--severities FILE", "For sets that are not at severities 1 to 5: a TOML file that says which five sets a name is."),
    ] = None,
    images: Annotated[Path | None, option("--list FILE", "For imagenet-c-5k: the names of its images, one a line.")] = None,
    allow_missing_classes: Annotated[
        bool,
        option(
            "--allow-missing-classes",
            "Export class folders although classes have no image: labels found by listing then differ from the manifest's.",
        ),
    ] = False,
    any_shape: AnyShape = False,
    as_json: AsJson = False,
) -> None:
    """Write a finished data set in the exact layout that a loader opens: image folders, arrays, tars, lists.

    Images are hard links to the build's files where that can be, and decode to the very same pixels everywhere.
    """
    with progress_of("export") as progress:
        from ..generate.views.export import export as run

        done = run(
            view,
            directory,
            out,
            sets=split_globs(sets),
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
