"""The command `corruptset plan`: show what a build would produce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import first_few
from ..quantities import duration, plural, size, spans
from .options import (
    OUTPUT,
    AnyShape,
    AsJson,
    Calibration,
    Coupling,
    Device,
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
from .output import progress_of, put, put_json, put_notes
from .recipe_choice import SAMPLE, RecipeName, chosen_recipe, source_notes
from .records import chain, put_facts, put_table

if TYPE_CHECKING:
    from ..generate.planning import Plan
    from ..generate.recipes.set_spec import SetSpec

MAX_NAMED_CLASSES = 5
"""The maximum number of classes that are named in the summary of a plan or a build."""
MAX_NAMED_CORRUPTIONS = 24
"""The maximum number of corruptions or chains per family that are named in the summary of a plan."""
STORES = {"images": "every region as an image", "table": "whole images and a table of regions"}


def plan(
    recipe: RecipeName = "imagenet-c",
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
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="The folder of the planned build. The plan only checks that this is a local path, and writes nothing.",
        ),
    ] = None,
    storage: Storage = None,
    encoding: Encoding = None,
    optimize: Optimize = False,
    store: Store = None,
    metrics: Metrics = None,
    page: Page = True,
    list_sets: Annotated[
        bool,
        typer.Option("--list-sets", rich_help_panel=OUTPUT, help="Also list every set with its stages."),
    ] = False,
    as_json: AsJson = False,
    surrogate: Surrogate = None,
    device: Device = None,
    surrogate_batch: SurrogateBatch = None,
    jobs: Jobs = None,
) -> None:
    """Show the sets and images of a build, and its estimated size, time and memory. Nothing is written."""
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
    from .. import plan as run

    with progress_of("plan") as progress:
        planned = run(
            chosen,
            source or SAMPLE,
            out=out,
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
            progress=progress,
        )
    notes = [*planned.notes, *notes, *source_notes(source)]
    if as_json:
        return put_json(planned.as_json() | {"notes": notes})
    if list_sets:
        rows = [[spec.id, spec.role, chain(stage.as_json() for stage in spec.stages)] for spec in planned.sets]
        put_table([f"set ({len(rows)})", "role", "stages"], rows)
    _put_plan(planned, notes, listed=list_sets)


def classes_line(count: int, first: Sequence[str]) -> str | None:
    """Return text with the number of classes and the names of the first ones, or None if there are no classes."""
    more = f" and {count - len(first)} more" if count > len(first) else ""
    return f"{count}: {', '.join(first)}{more}" if count else None


def _put_plan(planned: Plan, notes: Sequence[str], *, listed: bool) -> None:
    groups = [
        [family, str(len(sets)), first_few(corruptions_of(sets), MAX_NAMED_CORRUPTIONS)]
        for family, sets in planned.families().items()
    ]
    put_table(["family", "sets", "corruptions"], groups, right=["sets"])
    of_recipe = f"{len(planned.sets)} of {planned.recipe} {planned.version}"
    of_images = f" (regions of {planned.source_images} images)" if planned.store == "images" else ""
    others = f" and at least {plural(planned.other_sizes, 'other size')}" if planned.other_sizes else ""
    stored = _stored_as(planned.storage, planned.encoding["format"])
    # If the size was estimated from some of the samples, its uncertainty is known.
    within = f" (within {planned.deviation:.0%}, from {planned.looked_at} of the samples)" if planned.deviation else ""
    speed = f"{plural(planned.jobs, 'worker')}, {planned.images / planned.seconds:,.0f} images/s"
    work = f"{planned.stages_applied} stages per sample ({planned.stages_naive} without sharing between sets)"
    put_facts(
        {
            "Sets": of_recipe if listed else f"{of_recipe} (--list-sets shows all)",
            "Source": f"{planned.source}, {planned.samples} samples{of_images}",
            "Classes": classes_line(planned.classes, planned.first_classes),
            "Images": f"{planned.images}, {planned.size[0]}x{planned.size[1]}{others}",
            "Size": f"about {size(planned.bytes)} on disk, as {stored}{within}",
            "Time": f"about {duration(max(planned.seconds, 1))} with {speed}",
            "Memory": f"at most {size(planned.memory_per_worker)} per worker",
            "Work": f"{work}, in {plural(planned.parts, 'part')}",
        }
    )
    for name, count in planned.stores.items():
        chosen = "chosen" if name == planned.store else f"--store {name}"
        put(f"Store:  {STORES[name]}: about {size(count)} ({chosen})")
    if planned.alone:
        put(stored_twice(planned.alone))
    put_notes(notes)


def _stored_as(storage: str, image_format: str) -> str:
    """Return text that describes the containers of the images. Shards contain JPEG files, but never PNG files."""
    forms = {
        "folder": f"{image_format.upper()} files in folders",
        "hdf5": "HDF5 shards of JPEG images" if image_format == "jpeg" else "HDF5 shards of uncompressed pixels",
    }
    return " and ".join(forms.values()) if storage == "both" else forms[storage]


def stored_twice(alone: Mapping[str, int]) -> str:
    """Return a note that every image is stored twice, with the sizes that each form of storage alone would have."""
    forms = ", ".join(f"--storage {form} alone takes about {size(count)}" for form, count in alone.items())
    return f"Every image is stored twice, in a folder and in a shard. {forms[:1].upper()}{forms[1:]}."


def corruptions_of(sets: Sequence[SetSpec]) -> list[str]:
    """Return the corruptions in sets with their strengths, such as ``fog 1-5``. ``+`` joins the names in a chain."""
    strengths: dict[str, set[float]] = {}
    for spec in sets:
        numbers = strengths.setdefault("+".join(stage.corruption for stage in spec.stages), set())
        if len(spec.stages) == 1:
            (stage,) = spec.stages
            numbers |= {number for number in (stage.severity, stage.level) if number is not None}
    return [" ".join([name, spans(sorted(numbers))]).strip() for name, numbers in strengths.items()]
