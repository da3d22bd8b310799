"""The command `corruptset build`: apply a recipe to a source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..quantities import folders_and_files
from .options import (
    MACHINE,
    OUTPUT,
    AnyShape,
    AsJson,
    Calibration,
    Coupling,
    DatasetFolder,
    Device,
    DisjointFrom,
    Encoding,
    First,
    FirstStages,
    FrostTextures,
    Groups,
    HoldOut,
    Ids,
    ImageNames,
    Jobs,
    Labels,
    Levels,
    Metrics,
    Optimize,
    Orders,
    Page,
    PerClass,
    PerSuperCategory,
    Plugins,
    Samples,
    Scale,
    Scheduler,
    SecondStages,
    Seed,
    Sets,
    Severities,
    SkipBad,
    Source,
    Split,
    Storage,
    Store,
    Surrogate,
    SurrogateBatch,
    Train,
)
from .output import progress_of, put_json, put_notes
from .plan import MAX_NAMED_CLASSES, classes_line, stored_twice
from .recipe_choice import SAMPLE, RecipeName, chosen_recipe, source_notes
from .records import fields_of, put_record, put_result

if TYPE_CHECKING:
    from ..generate.built import Built


def build(
    recipe: RecipeName = None,
    source: Source = None,
    labels: Labels = None,
    images: ImageNames = None,
    groups: Groups = None,
    split: Split = None,
    samples: Samples = None,
    first: First = None,
    per_class: PerClass = None,
    ids: Ids = None,
    per_super_category: PerSuperCategory = None,
    hold_out: HoldOut = None,
    train: Train = False,
    skip_bad: SkipBad = False,
    any_shape: AnyShape = False,
    disjoint_from: DisjointFrom = None,
    sets: Sets = None,
    first_stages: FirstStages = None,
    second_stages: SecondStages = None,
    severities: Severities = None,
    levels: Levels = None,
    orders: Orders = None,
    calibration: Calibration = None,
    coupling: Coupling = "independent",
    scale: Scale = None,
    frost_textures: FrostTextures = None,
    plugins: Plugins = None,
    seed: Seed = 0,
    out: DatasetFolder = Path("corruptset-out"),
    extend: Annotated[
        Path | None,
        typer.Option(
            metavar="DATASET",
            rich_help_panel=OUTPUT,
            help="A finished dataset with the same recipe, source and options. Its sets are linked into the new "
            "dataset, and only the other sets are built.",
        ),
    ] = None,
    storage: Storage = None,
    encoding: Encoding = None,
    optimize: Optimize = False,
    store: Store = None,
    metrics: Metrics = None,
    page: Page = True,
    as_json: AsJson = False,
    surrogate: Surrogate = None,
    device: Device = None,
    surrogate_batch: SurrogateBatch = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            rich_help_panel=MACHINE,
            help="Run job I (counted from 0) of an array of N jobs. Each job builds its share of the parts.",
        ),
    ] = None,
    finish: Annotated[
        bool,
        typer.Option(
            "--finish",
            rich_help_panel=MACHINE,
            help="Finish a build whose parts were built with --part: write the manifest, or list the missing parts.",
        ),
    ] = False,
) -> None:
    """Build a corrupted dataset: images, manifest, checksums, page and contact sheet.

    The dataset is built in DIR/<recipe>-<version>.partial, which is renamed when it is finished. To resume a build that
    was interrupted, run the same command again. To discard an unfinished build, delete its folder.
    """
    if part is not None and finish:
        raise typer.BadParameter(
            "--part and --finish cannot be combined. First run all jobs with --part, then run the command once with "
            "--finish.",
            param_hint="--part",
        )
    chosen, notes = chosen_recipe(
        recipe,
        source or SAMPLE,
        first_stages=first_stages,
        second_stages=second_stages,
        severities=severities,
        levels=levels,
        orders=orders,
        calibration=calibration,
        plugins=plugins,
    )
    from .. import build as run
    from ..generate.plan.options import BuildKeywords

    options = BuildKeywords(
        disjoint_from=disjoint_from or (),
        scheduler=scheduler,
        seed=seed,
        jobs=jobs,
        sets=sets,
        samples=samples,
        first=first,
        per_class=per_class,
        ids=ids,
        per_super_category=per_super_category,
        storage=storage,
        encoding=encoding,
        optimize=optimize,
        skip_bad=skip_bad,
        calibration=calibration,
        coupling=coupling,
        scale=scale,
        metrics=metrics,
        frost_textures=frost_textures,
        surrogate=surrogate,
        device=device,
        surrogate_batch=surrogate_batch,
        labels=labels,
        split=split,
        groups=groups,
        hold_out=hold_out,
        train=train,
        images=images,
        any_shape=any_shape,
        store=store,
        page=page,
        plugins=plugins,
    )
    given = source or SAMPLE
    notes += source_notes(source)
    with progress_of("build") as progress:
        if part is not None:
            share = run(chosen, given, out, extend=extend, part=_share(part), progress=progress, **options)
        else:
            built = run(chosen, given, out, extend=extend, finish=finish, progress=progress, **options)
    if part is not None:
        hint = [] if as_json else ["When all jobs are finished, run the same command with --finish instead of --part."]
        return put_result(fields_of(share) | {"notes": [*share.notes, *notes, *hint]}, as_json=as_json)
    _put_build(built, [*built.notes, *notes], as_json=as_json)


def _share(text: str) -> tuple[int, int]:
    """Parse a value of ``--part`` into the number of the job and the number of jobs."""
    if not re.fullmatch(r"[0-9]+/[0-9]+", text):
        raise typer.BadParameter(
            f"{text!r} is not I/N. Give the job I, counted from 0, and the number of jobs N, such as 0/16.",
            param_hint="'--part'",
        )
    from ..generate.plan.parts import parse_job

    job, jobs = text.split("/")
    return parse_job((int(job), int(jobs)))


def _put_build(built: Built, notes: Sequence[str], *, as_json: bool) -> None:
    """Print the contents and the location of a dataset that was built."""
    from ..manifests.disk_size import disk_size
    from ..manifests.paths import CONTACT, PAGE

    manifest, directory = built.manifest, built.directory
    disk = disk_size(directory, manifest)
    page = f"{directory}/{PAGE}" if any(file.path == PAGE for file in manifest.files) else None
    record = {
        "ok": True,
        "sets": len(manifest.sets),
        "images": built.images,
        "bytes": disk.bytes,
        "seconds": round(built.seconds, 3),
        "excluded": [e.as_json() for e in manifest.excluded],
        "directory": directory,
        "contact_sheet": f"{directory}/{CONTACT}",
        "page": page,
        "digest": built.digest,
    }
    if as_json:
        return put_json(record | {"notes": list(notes)})
    written = sum(s.count for s in manifest.sets)
    new = f"{built.images} built now" if built.images else "all built before"
    put_notes(notes)
    if disk.alone:
        put_notes([stored_twice(disk.alone)])
    if manifest.excluded:
        put_notes([_excluded_note([entry.path for entry in manifest.excluded])])
    classes = classes_line(len(manifest.classes), [c.name for c in manifest.classes[:MAX_NAMED_CLASSES]])
    shown = {"ok": True, "sets": record["sets"], "images": f"{written}, {new}", "classes": classes}
    put_record(shown | {key: record[key] for key in record if key not in (*shown, "excluded")})


def _excluded_note(paths: Sequence[str]) -> str:
    """Return a note about files and folders that a build excluded from the source."""
    counts = folders_and_files(paths, "image")
    text = f"{counts} {'is' if len(paths) == 1 else 'are'} left out (listed under 'excluded' in manifest.json)."
    if "class folder" not in counts:
        return text
    return (
        f"{text} Classes without images keep their labels, so loaders that number the existing folders assign labels "
        "that differ from the manifest."
    )
