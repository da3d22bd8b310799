"""`corruptset plan` and `corruptset build`: from a recipe, which may be ``pairs``, to a directory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import RecipeError, first_few
from ..quantities import duration, folders_and_files, plural, size, spans
from . import completion
from .command import json_of
from .options import (
    ALONE,
    BUILD_OPTIONS,
    EXAMPLE,
    PAIR_OPTIONS,
    PLAN_OPTIONS,
    AsJson,
    OptionalSource,
    argument,
    option,
    with_options,
)
from .output import progress_of, put, put_json, put_notes
from .records import chain, put_facts, put_record, put_table

if TYPE_CHECKING:
    from ..generate.built import Built
    from ..generate.planning import Plan
    from ..generate.recipes.recipe import Recipe
    from ..generate.recipes.set_spec import SetSpec


RecipeName = Annotated[
    str | None,
    argument(
        "RECIPE",
        "A recipe (`corruptset list recipes`), the path of your own (.toml), or pairs.",
        autocompletion=completion.recipes,
    ),
]
MOST_CLASSES = 5
"""Classes that the summary of a build names."""
MOST_NAMED = 24
"""Corruptions or chains of a family that the summary of a plan names."""
STORES = {"images": "every region as an image", "table": "whole images and a table of regions"}
CONTAINERS = {
    "view": "a view",
    "folder": "image folders",
    "hdf5": "HDF5 shards",
    "both": "image folders and HDF5 shards",
}
SAMPLE = "sample"
"""The source where none is named."""
PAIRS = "pairs"
"""The recipe that is made of ``--first-stages`` and ``--second-stages``; a test compares it with the recipe's."""


@with_options(PLAN_OPTIONS | PAIR_OPTIONS)
def plan(
    recipe: RecipeName = "imagenet-c",
    source: OptionalSource = None,
    out: Path | None = option("--out -o DIR", "Where the build would go.", None),
    list_sets: bool = option("--list-sets", "Also list every set with its stages, above the summary.", False),
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Say what a build would make: sets, images, estimated bytes, time and memory. Writes nothing."""
    of_source, source = _source_notes(source), source or SAMPLE
    chosen, options, of_calibration = _chosen(recipe, source, given)
    from ..generate.planning import plan as run

    planned = run(chosen, source, out=out, **options)
    notes = [*planned.notes, *of_calibration, *of_source]
    if as_json:
        return put_json(planned.as_json() | {"notes": notes})
    if list_sets:
        rows = [[one.id, one.role, chain(stage.as_json() for stage in one.stages)] for one in planned.sets]
        put_table([f"set ({len(rows)})", "role", "stages"], rows)
    _put_plan(planned, notes, listed=list_sets)


@with_options(BUILD_OPTIONS | PAIR_OPTIONS)
def build(
    recipe: RecipeName = None,
    source: OptionalSource = None,
    out: Path = option("--out -o DIR", "The build goes to DIR/<recipe>-<version>.", "corruptset-out"),
    extend: Path | None = option(
        "--extend DATASET",
        "A finished dataset of the same recipe, source and options: the new one also has its sets, whose files are "
        "linked, and makes only the other sets.",
        None,
    ),
    part: str | None = option(
        "--part I/N",
        "Job I, from 0, of N: make only a share of the parts, beside other jobs that make the others, and stop.",
        None,
    ),
    finish: bool = option(
        "--finish",
        "Make no part: put the manifest together from the parts that --part made, or say what is missing.",
        False,
    ),
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Make a corrupted data set: images, manifest, checksums, contact sheet.

    The dataset is built in DIR/<recipe>-<version>.partial, which is renamed when it is finished. The same command
    resumes a build that was interrupted. To discard an unfinished build, delete its folder.
    """
    if part is not None and finish:
        raise typer.BadParameter(
            "--part and --finish exclude each other: first jobs with --part, then --finish.", param_hint="--part"
        )
    of_source, source = _source_notes(source), source or SAMPLE
    chosen, options, of_calibration = _chosen(recipe, source, given)
    # a scheduler without an address is a mistake, which the build names
    options = {name: value for name, value in options.items() if name not in ALONE or value is not None}
    options |= {"part": _share(part)} if part is not None else {"finish": True} if finish else {}
    with progress_of("build") as progress:
        from ..generate.build import build as run

        built = run(chosen, source, out, extend=extend, progress=progress, **options)
    notes = [*built.notes, *of_calibration, *of_source]
    if part is not None:
        then = "When all parts are made: the same command with --finish in place of --part."
        record = json_of(built) | {"notes": notes if as_json else [*notes, then]}
        return put_json(record) if as_json else put_record(record)
    _put_build(built, notes, as_json=as_json)


def _source_notes(source: str | None) -> list[str]:
    """Return the note of a command without a source."""
    if source is not None:
        return []
    return [
        "No --source was given, so the images are the sample photographs that come with scikit-image. Name your own "
        "images with --source, such as --source folder:PATH."
    ]


def _chosen(
    recipe: str | None, source: str, given: Mapping[str, Any]
) -> tuple[str | Recipe, dict[str, Any], tuple[str, ...]]:
    """Return the recipe, the keyword arguments of plan and build, and notes on what was chosen for the user.

    Plugins are loaded before, since pairs may name their corruptions.
    """
    if given["plugins"]:
        from ..corruptions.plugins import load_plugins

        load_plugins(given["plugins"])
    chosen = chosen_recipe(recipe, source, given)
    notes: tuple[str, ...] = ()
    if recipe == PAIRS and not given["calibration"]:
        from ..generate.recipes.two_factor import calibration_note

        notes = (calibration_note(source.partition(":")[0], chosen),)
    return chosen, {name: given[name] for name in given if name in BUILD_OPTIONS}, notes


def chosen_recipe(recipe: str | None, source: str, given: Mapping[str, Any]) -> str | Recipe:
    """Return the recipe that a command means: named, with other severities, or pairs.

    Raises
    ------
    RecipeError
        No recipe, options of pairs without pairs, or pairs without stages.
    """
    if recipe is None:
        from ..generate.catalogue import catalogue

        rows = [f"  {row['name']:28}{row['title']}" for row in catalogue("recipes")]
        text = "No recipe was named. One of these, `pairs`, or the path of your own (.toml), comes after the command:"
        raise RecipeError("\n".join([text, *rows]))
    first, second = given["first_stages"], given["second_stages"]
    if recipe == PAIRS:
        if not first or not second:
            raise RecipeError(f"The recipe 'pairs' is made of first-stages and second-stages, as in: {EXAMPLE}")
        from ..generate.recipes.two_factor import calibration_for, pairs

        calibration = given["calibration"] or calibration_for(source.partition(":")[0])
        options = {name: given[name] for name in ("severities", "levels", "orders") if given[name]}
        return pairs(first, second, calibration=calibration, **options)
    of_pairs = ("first_stages", "second_stages", "levels", "orders")
    if misplaced := [f"--{name.replace('_', '-')}" for name in of_pairs if given[name]]:
        raise RecipeError(f"{' and '.join(misplaced)}: only with the recipe 'pairs'; the recipe here is {recipe!r}.")
    if given["severities"] is None:
        return recipe
    from ..generate.recipes.recipe import load_recipe
    from ..generate.recipes.two_factor import with_severities

    return with_severities(load_recipe(recipe), given["severities"])


def _share(text: str) -> tuple[int, int]:
    """Return what ``--part`` says."""
    if not re.fullmatch(r"[0-9]+/[0-9]+", text):
        raise typer.BadParameter(f"{text!r} is not I/N, job I (from 0) of N, such as 0/16.", param_hint="'--part'")
    from ..generate.plan.parts import check_share

    job, jobs = text.split("/")
    return check_share((int(job), int(jobs)))


def _put_build(built: Built, notes: Sequence[str], *, as_json: bool) -> None:
    """Say what a build has made, and where it is."""
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
    new = f"{built.images} made now" if built.images else "all there already"
    put_notes(notes)
    if disk.alone:
        put_notes([_both(disk.alone)])
    if manifest.excluded:
        put_notes([_left_out([one.path for one in manifest.excluded])])
    classes = _classes(len(manifest.classes), [c.name for c in manifest.classes[:MOST_CLASSES]])
    shown = {"ok": True, "sets": record["sets"], "images": f"{written}, {new}", "classes": classes}
    put_record(shown | {key: record[key] for key in record if key not in (*shown, "excluded")})


def _left_out(paths: Sequence[str]) -> str:
    """Return the note on what a build left out of its source."""
    counted = folders_and_files(paths, "image")
    text = f"{counted} {'is' if len(paths) == 1 else 'are'} left out (listed under 'excluded' in manifest.json)."
    if "class folder" not in counted:
        return text
    return (
        f"{text} Classes without images keep their labels, so loaders that number the folders they find give other "
        "labels than the manifest."
    )


def _classes(count: int, first: Sequence[str]) -> str | None:
    """Return the number of classes and the names of the first few; None where there are no classes."""
    more = f" and {count - len(first)} more" if count > len(first) else ""
    return f"{count}: {', '.join(first)}{more}" if count else None


def _put_plan(planned: Plan, notes: Sequence[str], *, listed: bool) -> None:
    groups = [
        [family, str(len(sets)), first_few(corruptions_of(sets), MOST_NAMED)]
        for family, sets in planned.families().items()
    ]
    put_table(["family", "sets", "corruptions"], groups, right=["sets"])
    whole = f"{len(planned.sets)} of {planned.recipe} {planned.version}"
    of_images = f" (regions of {planned.source_images} images)" if planned.store == "images" else ""
    others = f" and at least {plural(planned.other_sizes, 'other size')}" if planned.other_sizes else ""
    stored = f"{CONTAINERS[planned.storage]} of {planned.encoding['format']}"
    # an estimate that only some of the samples were made for
    within = f" (within {planned.deviation:.0%}, from {planned.looked_at} of the samples)" if planned.deviation else ""
    speed = f"{plural(planned.jobs, 'worker')}, {planned.images / planned.seconds:,.0f} images/s"
    work = f"{planned.stages_applied} stages for each sample, {planned.stages_naive} without sharing"
    put_facts(
        {
            "Sets": whole if listed else f"{whole} (each of them: --list-sets)",
            "Source": f"{planned.source}, {planned.samples} samples{of_images}",
            "Classes": _classes(planned.classes, planned.first_classes),
            "Images": f"{planned.images}, {planned.size[0]}x{planned.size[1]}{others}",
            "Size": f"about {size(planned.bytes)} on disk, as {stored}{within}",
            "Time": f"about {duration(max(planned.seconds, 1))} with {speed}",
            "Memory": f"at most {size(planned.memory_per_worker)} a worker",
            "Work": f"{work}; {planned.parts} parts",
            "Moved": f"the content of {first_few(planned.moves_content)}" if planned.moves_content else None,
        }
    )
    for name, count in planned.stores.items():
        chosen = "chosen" if name == planned.store else f"--store {name}"
        put(f"Store:  {STORES[name]}: about {size(count)} ({chosen})")
    if planned.alone:
        put(_both(planned.alone))
    put_notes(notes)


def _both(alone: Mapping[str, int]) -> str:
    """Return that every image is stored twice, and what either form alone takes."""
    forms = ", ".join(f"--storage {form} alone takes about {size(count)}" for form, count in alone.items())
    return f"Every image is stored twice, in a folder and in a shard: {forms}."


def corruptions_of(sets: Sequence[SetSpec]) -> list[str]:
    """Return the corruptions of sets: a chain's joined by ``+``, single ones as ``fog 1-5``."""
    numbers: dict[str, set[float]] = {}
    for one in sets:
        found = numbers.setdefault("+".join(stage.corruption for stage in one.stages), set())
        if len(one.stages) == 1:
            (stage,) = one.stages
            found |= {number for number in (stage.severity, stage.level) if number is not None}
    return [" ".join([name, spans(sorted(found))]).strip() for name, found in numbers.items()]
