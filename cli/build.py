"""`corruptset plan` and `corruptset build`: from a recipe and a source to a directory; the recipe `pairs`, which the
options make.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import RecipeError, first_few
from ..quantities import duration, size, spans
from . import completion
from .options import (
    ALONE_OPTIONS,
    BUILD_OPTIONS,
    EXAMPLE,
    PAIR_OPTIONS,
    AsJson,
    Source,
    argument,
    option,
    with_options,
)
from .output import chain, progress_of, put, put_json, put_notes, put_table

if TYPE_CHECKING:
    from ..generate.built import PartBuilt
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
MOST_NAMED = 24
"""Corruptions or chains of a family that the summary of a plan names."""
STORES = {"images": "every region as an image", "table": "whole images and a table of regions"}
CONTAINERS = {
    "view": "a view",
    "folder": "image folders",
    "hdf5": "HDF5 shards",
    "both": "image folders and HDF5 shards",
}


@with_options(BUILD_OPTIONS | PAIR_OPTIONS)
def plan(
    recipe: RecipeName = "imagenet-c",
    source: Source = "sample",
    out: Path | None = option("--out -o DIR", "Where the build would go.", None),
    list_sets: bool = option("--list-sets", "Also list every set with its stages, above the summary.", False),
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Say what a build would make: sets, images, estimated bytes, time and memory. Writes nothing."""
    given["source"] = source
    options = _build_options(given)
    from ..generate.planning import plan as make_plan

    planned = make_plan(chosen_recipe(recipe, given), source, out=out, **options)
    if as_json:
        put_json(planned.as_json())
    else:
        _print_plan(planned, list_sets=list_sets)


@with_options(BUILD_OPTIONS | PAIR_OPTIONS | ALONE_OPTIONS)
def build(
    recipe: RecipeName = None,
    source: Source = "sample",
    out: Path = option("--out -o DIR", "The build goes to DIR/<recipe>-<version>.", "corruptset-out"),
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
    abandon: bool = option(
        "--abandon",
        "Make nothing: take back the unfinished extension of this build, or the build itself where none of it is "
        "finished.",
        False,
    ),
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Make a corrupted data set: images, manifest, checksums, contact sheet.

    The same command resumes a build that was stopped; the same command with more --sets extends a finished one.
    """
    given["source"] = source
    ways = [f"--{way}" for way, on in (("part", part is not None), ("finish", finish), ("abandon", abandon)) if on]
    if len(ways) > 1:
        raise typer.BadParameter(
            f"{' and '.join(ways)} exclude each other: first jobs with --part, then --finish.", param_hint=ways[0]
        )
    options = _build_options(given)
    if abandon:
        return _abandon(chosen_recipe(recipe, given), out, as_json=as_json)
    # a scheduler without an address is a mistake, which the build names
    options |= {name: given[name] for name in ALONE_OPTIONS if given[name] is not None}
    options |= {"part": _share(part)} if part is not None else {"finish": True} if finish else {}
    with progress_of("build") as progress:
        from ..generate.build import build as make_build

        built = make_build(chosen_recipe(recipe, given), source, out, progress=progress, **options)
        from ..manifests.disk_size import disk_size
        from ..manifests.layout import CONTACT, PAGE, WORK_FOLDER

    if part is not None:
        return _put_part(built, as_json=as_json)
    manifest = built.manifest
    disk = disk_size(built.directory, manifest)
    page = f"{built.directory}/{PAGE}" if any(file.path == PAGE for file in manifest.files) else None
    if as_json:
        files = {"directory": built.directory, "digest": built.digest}
        files |= {"contact_sheet": f"{built.directory}/{CONTACT}", "page": page}
        counts = {"sets": len(manifest.sets), "images": built.images, "bytes": disk.bytes}
        more = {
            "excluded": [e.as_json() for e in manifest.excluded],
            "notes": built.notes,
            "seconds": round(built.seconds, 3),
        }
        return put_json({"ok": True, **files, **counts, **more})
    written = sum(s.count for s in manifest.sets)
    new = "all there already" if not built.images else f"{built.images} made now" if built.images < written else "made"
    put(f"{len(manifest.sets)} sets, {written} images, {size(disk.bytes)} on disk: {new} in {duration(built.seconds)}")
    put_both(disk.alone)
    if manifest.excluded:
        put(f"Left out: {len(manifest.excluded)} bad images (listed under 'excluded' in manifest.json)", style="yellow")
    put_notes(built.notes)
    if (built.directory / WORK_FOLDER).is_dir():
        put(
            "An extension of it is unfinished: the command that began it resumes it, with --abandon takes it back.",
            style="yellow",
        )
    put(f"Directory:     {built.directory}")
    put(f"Contact sheet: {built.directory}/{CONTACT}")
    if page:
        put(f"Page:          {page}")
    put(f"Digest:        {built.digest}")


def _share(text: str) -> tuple[int, int]:
    """Return what ``--part`` says."""
    if not re.fullmatch(r"[0-9]+/[0-9]+", text):
        raise typer.BadParameter(f"{text!r} is not I/N, job I (from 0) of N, such as 0/16.", param_hint="'--part'")
    from ..generate.plan.parts import check_share

    job, jobs = text.split("/")
    return check_share((int(job), int(jobs)))


def _put_part(built: PartBuilt, *, as_json: bool) -> None:
    """Say what a job of an array has made."""
    if as_json:
        return put_json({"ok": True, **vars(built), "seconds": round(built.seconds, 3)})
    job, jobs = built.part
    of = f"{built.parts} parts" if built.parts else "no parts, as there are fewer than jobs"
    put(f"Part {job}/{jobs} is {of}: {built.made} made now, {built.images} images, in {duration(built.seconds)}")
    put_notes(built.notes)
    put(f"Directory: {built.directory}")
    put("When all parts are made: the same command with --finish in place of --part.")


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
        put(f"{directory}: {len(sets)} unfinished sets were taken back ({first_few(list(sets))}).")
    else:
        put(f"{directory} is finished, and nothing of it is being extended: nothing was changed.")


def _build_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of plan and build; load plugins, whose corruptions pairs may name."""
    if given["plugins"]:
        from ..corruptions.plugins import load_plugins

        load_plugins(given["plugins"])
    return {name: given[name] for name in BUILD_OPTIONS}


def _print_plan(planned: Plan, *, list_sets: bool) -> None:
    if list_sets:
        rows = [[one.id, one.role, chain(stage.as_json() for stage in one.stages)] for one in planned.sets]
        put_table([f"set ({len(rows)})", "role", "stages"], rows)
    groups = [
        [family, str(len(sets)), first_few(corruptions_of(sets), MOST_NAMED)]
        for family, sets in planned.families().items()
    ]
    put_table(["family", "sets", "corruptions"], groups, right=["sets"])
    each = "" if list_sets else " (each of them: --list-sets)"
    put(f"Sets:    {len(planned.sets)} of {planned.recipe} {planned.version}{each}")
    of_images = f" (regions of {planned.source_images} images)" if planned.store == "images" else ""
    put(f"Source:  {planned.source}, {planned.samples} samples{of_images}")
    others = (
        f" and at least {planned.other_sizes} other size{'s' * (planned.other_sizes > 1)}"
        if planned.other_sizes
        else ""
    )
    put(f"Images:  {planned.images}, {planned.size[0]}x{planned.size[1]}{others}")
    put(
        f"Size:    about {size(planned.bytes)} on disk, as {CONTAINERS[planned.format]} of "
        f"{planned.encoding['format']}{_sampling(planned)}"
    )
    put_both(planned.alone, "         ")
    workers = f"{planned.jobs} worker{'s' * (planned.jobs != 1)}"
    put(
        f"Time:    about {duration(max(planned.seconds, 1))} with {workers}, {planned.images / planned.seconds:,.0f} "
        "images/s"
    )
    put(f"Memory:  at most {size(planned.memory_per_worker)} a worker")
    put(
        f"Work:    {planned.stages_applied} stages for each sample, {planned.stages_naive} without sharing; "
        f"{planned.parts} parts"
    )
    if planned.moves_content:
        put(f"Moved:   the content of {first_few(planned.moves_content)}")
    for name, count in planned.stores.items():
        chosen = "chosen" if name == planned.store else f"--store {name}"
        put(f"Store:   {STORES[name]}: about {size(count)} ({chosen})")
    put_notes(planned.notes)


def put_both(alone: Mapping[str, int], indent: str = "") -> None:
    """Say that every image is stored twice, where it is, and what either form alone takes."""
    if alone:
        forms = ", ".join(f"--format {form} alone takes about {size(count)}" for form, count in alone.items())
        put(f"{indent}Every image is stored twice, in a folder and in a shard: {forms}.")


def _sampling(planned: Plan) -> str:
    """Return what an estimate is worth that some of the samples were made for."""
    if not planned.deviation:
        return ""
    return f" (within {planned.deviation:.0%}, from {planned.looked_at} of the samples)"


def corruptions_of(sets: Sequence[SetSpec]) -> list[str]:
    """Return the corruptions of sets, a chain's joined by ``+``; single ones with their severities or levels: ``fog
    1-5``.
    """
    numbers: dict[str, set[float]] = {}
    for one in sets:
        found = numbers.setdefault("+".join(stage.corruption for stage in one.stages), set())
        if len(one.stages) == 1:
            (stage,) = one.stages
            found |= {number for number in (stage.severity, stage.level) if number is not None}
    return [" ".join([name, spans(sorted(found))]).strip() for name, found in numbers.items()]


PAIRS = "pairs"
"""The name of the recipe that is made of ``--first-stages`` and ``--second-stages``; a test compares it with that of
the recipe.
"""


def chosen_recipe(recipe: str | None, given: Mapping[str, Any]) -> str | Recipe:
    """Return the recipe that a command means: by name, with other severities, or made of ``--first-stages`` and
    ``--second-stages``.

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

        calibration = given["calibration"] or calibration_for(given["source"].partition(":")[0])
        options = {name: given[name] for name in ("severities", "levels", "orders") if given[name]}
        return pairs(first, second, calibration=calibration, **options)
    misplaced = [
        f"--{name.replace('_', '-')}" for name in ("first_stages", "second_stages", "levels", "orders") if given[name]
    ]
    if misplaced:
        raise RecipeError(f"{' and '.join(misplaced)}: only with the recipe 'pairs'; the recipe here is {recipe!r}.")
    if given["severities"] is None:
        return recipe
    from ..generate.recipes.recipe import load_recipe
    from ..generate.recipes.two_factor import with_severities

    return with_severities(load_recipe(recipe), given["severities"])
