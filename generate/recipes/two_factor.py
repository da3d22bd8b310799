"""Two-factor sets without a recipe file: stages before stages, as given on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ...arguments import as_list
from ...corruptions.registry import get_corruption
from ...error_lines import error_lines
from ...errors import RecipeError, first_few, listed
from ...quantities import plural
from .recipe import Recipe, load_recipe, recipe_of
from .set_spec import SetSpec

NAME = "pairs"
BASES = {
    "imagenet": "imagenet-c",
    "inception": "imagenet-c-299",
    "tiny": "tiny-imagenet-c",
    "cifar": "cifar10-c",
    "mnist": "mnist-c",
}
"""Calibration -> the recipe whose preprocessing and encoding the pairs have."""
OF_SOURCE = {"cifar10": "cifar", "cifar100": "cifar", "mnist": "mnist"}
"""Scheme of a source -> the calibration of its pairs; any other has `imagenet`."""
IMAGES = {"cifar": "32x32 pixels", "mnist": "28x28 pixels and grey"}
"""Calibration -> what the images of its sources are like."""


def pairs(
    first: Sequence[str],
    second: Sequence[str],
    *,
    severities: Sequence[int] = (1, 2, 3, 4, 5),
    levels: Sequence[int] = (),
    orders: Literal["both", "given"] = "both",
    calibration: str | Path = "imagenet",
) -> Recipe:
    """Return a recipe of two-factor sets: stages of one list before stages of another.

    Parameters
    ----------
    first, second : sequence of str
        Corruptions (``"fog"``, at each of the severities or levels), links (``"fog-3"``, ``"black_lines-07"``), and
        stages with given parameters under a short name (``"ro030=rotate:angle_deg=30:canvas=loose"``).
    severities : sequence of int
        1..5, of corruptions, on both sides: all combinations are made.
    levels : sequence of int
        1, 2, ..., of gradual degradations, on both sides.
    orders : {"both", "given"}
        Whether second before first is made too.
    calibration : str or path
        Which table the severities are of. It also says what images are expected, what becomes of them first and how
        they are stored: as in ``imagenet-c``, ``imagenet-c-299``, ``tiny-imagenet-c``, ``cifar10-c`` or ``mnist-c``;
        for a table file as in ``imagenet-c``.

    Returns
    -------
    Recipe

    Raises
    ------
    RecipeError
        With every mistake at once.

    Examples
    --------
    >>> recipe = pairs(["fog"], ["gaussian_noise-5"], severities=[1, 3])
    >>> [s.id for s in recipe.resolve().sets]
    ['fog-1+gaussian_noise-5', 'fog-3+gaussian_noise-5', 'gaussian_noise-5+fog-1', 'gaussian_noise-5+fog-3']
    """
    base = load_recipe(BASES.get(str(calibration), BASES["imagenet"]))
    problems: list[str] = []
    stages: dict[str, Any] = {}
    sides = {
        name: [_named(item, stages, name, problems) for item in as_list(items)]
        for name, items in (("first", first), ("second", second))
    }
    entry: dict[str, Any] = {**sides, "orders": orders, "severities": as_list(severities)}
    if levels:
        entry["levels"] = as_list(levels)
    data = {
        "name": NAME,
        "version": "1.0.0",
        "title": "Two-factor sets",
        "description": "Pairs of corruptions, one after the other.",
        "calibration": str(calibration),
        "scale": "none",
        "expects": base.expects,
        "preprocessing": base.preprocessing,
        "encoding": base.encoding,
        "storage": base.storage,
        "stages": stages,
        "pairs": [entry],
    }
    return recipe_of(data, "The recipe of pairs", problems)


def _named(item: str, stages: dict[str, Any], side: str, problems: list[str]) -> str:
    """Return the name of an item; one with given parameters goes into `stages`."""
    name, equals, rest = item.partition("=")
    if not equals or ":" in name:
        if ":" in item:
            problems.append(
                f"{side}: {item!r} gives parameters and needs a short name of its own, as in ro030=rotate:angle_deg=30"
            )
        return item.partition(":")[0].strip()
    corruption, *assignments = rest.split(":")
    parameters: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            problems.append(f"{side}: {assignment!r} in {item!r} is not parameter=value")
        parameters[key.strip()] = number_or_word(value.strip())
    stages[name.strip()] = {"corruption": corruption.strip(), "parameters": parameters}
    return name.strip()


def number_or_word(text: str) -> bool | int | float | str:
    """Return a parameter's value from the command line: boolean, number or word."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def with_severities(recipe: Recipe, severities: Sequence[int]) -> Recipe:
    """Return a recipe with other severities in all of its pairs.

    Raises
    ------
    RecipeError
        It has no pairs, or there is no such severity.
    """
    if not recipe.pairs:
        raise RecipeError(
            f"The recipe {recipe.name} has no pairs whose severities could be given; --sets picks some of its sets."
        )
    changed = {"severities": list(severities), "first_severities": None, "second_severities": None}
    data = recipe.model_dump()
    data["pairs"] = [pair | changed for pair in data["pairs"]]
    try:
        return Recipe.model_validate(data)
    except ValidationError as e:
        raise RecipeError(
            f"The severities of the recipe {recipe.name} cannot be used:\n{listed(error_lines(e))}"
        ) from None


def calibration_for(scheme: str) -> str:
    """Return the calibration of pairs where none is named.

    Examples
    --------
    >>> calibration_for("cifar100"), calibration_for("folder")
    ('cifar', 'imagenet')
    """
    return OF_SOURCE.get(scheme, "imagenet")


def calibration_note(scheme: str, recipe: str | Recipe) -> str:
    """Return the note that says which calibration was chosen for the pairs of a source, and what follows from it."""
    name = calibration_for(scheme)
    why = (
        f"the images of {scheme} are {IMAGES[name]}"
        if scheme in OF_SOURCE
        else f"it is the default for every source except {', '.join(OF_SOURCE)}"
    )
    note = (
        f"The calibration {name} was chosen, because {why}. A severity therefore has the parameters of "
        f"{load_recipe(BASES[name]).title}."
    )
    stages = [stage for one in load_recipe(recipe).resolve().sets for stage in one.stages]
    if vertical := sorted({stage.corruption for stage in stages if stage.parameters.get("axes") == "rows"}):
        note += (
            f" The Gaussian filter of {' and '.join(vertical)} acts in the vertical direction only, as it does there."
        )
    return f"{note} To choose another calibration, pass --calibration."


def validation_notes(sets: Sequence[SetSpec]) -> list[str]:
    """Return a note on the chains that scores leave out of means, because a corruption in them is for validation."""
    chains = [one for one in sets if len(one.stages) > 1]
    excluded = [one for one in chains if one.role == "validation"]
    used = {stage.corruption for one in excluded for stage in one.stages}
    corruptions = sorted(name for name in used if get_corruption(name).role == "validation")
    if not corruptions:
        return []
    return [
        f"{len(excluded)} of {plural(len(chains), 'chain')} have the role validation and are excluded from means over "
        f"test sets, because they contain {' or '.join(corruptions)}, which is meant for choosing a method: "
        f"{first_few([one.id for one in excluded])}. To include them, write them in a recipe file with "
        'role = "test".'
    ]
