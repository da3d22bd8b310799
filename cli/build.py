"""`corruptset plan` and `corruptset build`: from a recipe and a source to a directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import (
    DEFAULT_RECIPE,
    AnyShape,
    AsJson,
    Calibration,
    Coupling,
    CouplingOption,
    First,
    FormatOption,
    FrostTextures,
    Ids,
    ImagesOption,
    Jobs,
    Labels,
    Levels,
    Metrics,
    Optimize,
    OrdersOption,
    PerClass,
    Samples,
    ScaleOption,
    Second,
    Seed,
    Sets,
    Severities,
    SkipBad,
    Source,
    Split,
    count_or_all,
    split_globs,
)
from .output import chain, duration, put, put_json, put_notes, put_table, size
from .pack import some
from .pairs import chosen_recipe, first_samples

if TYPE_CHECKING:
    from ..generate.plan.plan import Plan

Recipe = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE", help="A recipe (`corruptset list recipes`), the path of your own (.toml), or pairs.", show_default=True
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The build goes to DIR/<recipe>-<version>.")]

View = Annotated[
    str | None,
    typer.Option(
        "--view",
        metavar="VIEW",
        help="Write the images straight in a loader's layout: cifar-c, imagenet-c, tiny-imagenet-c, mnist-c, imagefolder, openood.",
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

Abandon = Annotated[
    bool,
    typer.Option(
        "--abandon",
        help="Make nothing: take back the unfinished extension of this build, or the build itself where none of it was finished.",
    ),
]

CONTAINERS = {"view": "a view", "folder": "image folders", "hdf5": "HDF5 shards", "both": "image folders and HDF5 shards"}


def plan(
    recipe: Recipe = DEFAULT_RECIPE,
    source: Source = "sample",
    seed: Seed = 0,
    jobs: Jobs = None,
    sets: Sets = None,
    samples: Samples = None,
    first: First = None,
    per_class: PerClass = None,
    ids: Ids = None,
    format: FormatOption = None,
    optimize: Optimize = False,
    skip_bad: SkipBad = False,
    calibration: Calibration = None,
    coupling: CouplingOption = Coupling.independent,
    scale: ScaleOption = None,
    metrics: Metrics = None,
    labels: Labels = None,
    split: Split = None,
    images: ImagesOption = None,
    frost_textures: FrostTextures = None,
    view: View = None,
    any_shape: AnyShape = False,
    second: Second = None,
    severities: Severities = None,
    levels: Levels = None,
    orders: OrdersOption = None,
    as_json: AsJson = False,
) -> None:
    """Say what a build would make: sets, images, estimated bytes, time and memory. Writes nothing."""
    given = dict(locals())
    options = _options(given)
    from ..generate.plan.plan import plan as make_plan

    planned = make_plan(chosen_recipe(recipe, given), source, **options)
    if as_json:
        put_json(planned.as_json())
    else:
        _print_plan(planned)


def build(
    recipe: Recipe = DEFAULT_RECIPE,
    source: Source = "sample",
    out: Out = Path("corruptset-out"),
    seed: Seed = 0,
    jobs: Jobs = None,
    sets: Sets = None,
    samples: Samples = None,
    first: First = None,
    per_class: PerClass = None,
    ids: Ids = None,
    format: FormatOption = None,
    optimize: Optimize = False,
    skip_bad: SkipBad = False,
    calibration: Calibration = None,
    coupling: CouplingOption = Coupling.independent,
    scale: ScaleOption = None,
    metrics: Metrics = None,
    labels: Labels = None,
    split: Split = None,
    images: ImagesOption = None,
    frost_textures: FrostTextures = None,
    view: View = None,
    any_shape: AnyShape = False,
    second: Second = None,
    severities: Severities = None,
    levels: Levels = None,
    orders: OrdersOption = None,
    disjoint_from: DisjointFrom = None,
    abandon: Abandon = False,
    as_json: AsJson = False,
) -> None:
    """Make a corrupted data set: images, manifest, checksums, contact sheet.

    The same command resumes a build that was stopped; the same command with more --sets extends a finished one.
    """
    given = dict(locals())
    if abandon:
        return _abandon(chosen_recipe(recipe, given), out, as_json=as_json)
    options = _options(given) | ({"disjoint_from": disjoint_from} if disjoint_from else {})
    from .progress import Progress

    with Progress("build") as progress:
        from ..generate.build import build as make_build

        built = make_build(chosen_recipe(recipe, given), source, out, progress=progress, **options)
        from ..manifests.layout import WORK_FOLDER

    manifest = built.manifest
    total = sum(s.bytes for s in manifest.sets)
    if as_json:
        put_json(
            {
                "ok": True,
                "directory": str(built.directory),
                "digest": built.digest,
                "contact_sheet": str(built.contact_sheet),
                "sets": len(manifest.sets),
                "images": built.images,
                "bytes": total,
                "excluded": [e.as_json() for e in manifest.excluded],
                "notes": list(built.notes),
                "seconds": round(built.seconds, 3),
            }
        )
        return
    written = sum(s.count for s in manifest.sets)
    new = "all there already" if not built.images else f"{built.images} made now" if built.images < written else "made"
    put(f"{len(manifest.sets)} sets, {written} images, {size(total)}: {new} in {duration(built.seconds)}")
    if manifest.excluded:
        put(f"Left out: {len(manifest.excluded)} bad images (listed under 'excluded' in manifest.json)", style="yellow")
    put_notes(built.notes)
    put(f"Directory:     {built.directory}")
    put(f"Digest:        {built.digest}")
    put(f"Contact sheet: {built.contact_sheet}")
    if (built.directory / WORK_FOLDER).is_dir():
        put("An extension of it is unfinished: the command that began it resumes it, with --abandon takes it back.", style="yellow")


def _abandon(recipe: Any, out: Path, *, as_json: bool) -> None:
    """Take back what is unfinished."""
    from ..generate.commit.abandon import abandon
    from ..generate.recipes.recipe import load_recipe

    named = load_recipe(recipe)
    directory = out / f"{named.name}-{named.version}"
    sets = abandon(directory)
    if as_json:
        put_json({"directory": str(directory), "abandoned": list(sets)})
    elif sets:
        put(f"{directory}: {len(sets)} unfinished sets were taken back ({some(list(sets))}).")
    else:
        put(f"{directory} is finished, and nothing of it is being extended: nothing was changed.")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of plan and build from a command's own."""
    form, scale = given["format"], given["scale"]
    return {
        "seed": given["seed"],
        "jobs": given["jobs"],
        "sets": split_globs(given["sets"]),
        "samples": given["samples"],
        "first": first_samples(given),
        "per_class": given["per_class"],
        "ids": given["ids"],
        "format": None if form is None else form.value,
        "optimize": given["optimize"],
        "skip_bad": given["skip_bad"],
        "calibration": given["calibration"],
        "coupling": given["coupling"].value,
        "scale": None if scale is None else scale.value,
        "metrics": count_or_all(given["metrics"], "--metrics"),
        "labels": given["labels"],
        "split": None if given["split"] is None else given["split"].value,
        "images": given["images"],
        "frost_textures": given["frost_textures"],
        "view": given["view"],
        "any_shape": given["any_shape"],
    }


def _print_plan(planned: Plan) -> None:
    from rich.table import Table

    table = Table(f"set ({len(planned.sets)})", "role", "stages", box=None, pad_edge=False)
    for one in planned.sets:
        table.add_row(one.id, one.role, chain(stage.as_json() for stage in one.stages))
    put_table(table)
    put()
    put(f"Source:  {planned.source}, {planned.samples} samples")
    others = f" and at least {planned.other_sizes} other size{'s' * (planned.other_sizes > 1)}" if planned.other_sizes else ""
    put(f"Images:  {planned.images}, {planned.size[0]}x{planned.size[1]}{others}")
    put(f"Size:    about {size(planned.bytes)}, as {CONTAINERS[planned.format]} of {planned.encoding['format']}")
    workers = f"{planned.jobs} worker{'s' * (planned.jobs != 1)}"
    put(f"Time:    about {duration(planned.seconds)} with {workers}; compiling, once on a machine, adds half a minute")
    put(f"Memory:  at most {size(planned.memory_per_worker)} a worker")
    put(f"Work:    {planned.stages_applied} stages for each sample, {planned.stages_naive} without sharing; {planned.parts} parts")
    put_notes(planned.notes)
