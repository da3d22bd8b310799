"""Create recipes from command-line options for two-factor sets, which are chains of two corruptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from ...arguments import as_list
from ...corruptions.registry import get_corruption
from ...error_lines import error_lines
from ...errors import RecipeError, first_few, format_list
from ...quantities import plural
from .recipe import Recipe, load_recipe, validate_recipe
from .set_spec import SetSpec

if TYPE_CHECKING:
    from ...corruptions.stages import Stage
    from ...manifests.records.models import StageRecord

NAME = "pairs"
BASES = {
    "imagenet": "imagenet-c",
    "inception": "imagenet-c-299",
    "tiny": "tiny-imagenet-c",
    "cifar": "cifar10-c",
    "mnist": "mnist-c",
}
"""For each calibration, the recipe whose preprocessing, encoding and storage are used for pairs."""
SOURCE_CALIBRATIONS = {"cifar10": "cifar", "cifar100": "cifar", "mnist": "mnist"}
"""The default calibration of pairs for the schemes of some sources. For all other sources, it is `imagenet`."""
IMAGE_DESCRIPTIONS = {"cifar": "32x32 pixels", "mnist": "28x28 pixels and grey"}
"""Descriptions of source images for notes, by the default calibration of the source's pairs."""


def pairs(
    first: Sequence[str],
    second: Sequence[str],
    *,
    severities: Sequence[int] = (1, 2, 3, 4, 5),
    levels: Sequence[int] = (),
    orders: Literal["both", "given"] = "both",
    calibration: str | Path = "imagenet",
) -> Recipe:
    """Return a recipe of two-factor sets, which combine each stage in one list with each stage in another list.

    Parameters
    ----------
    first, second : sequence of str
        Corruptions (``"fog"``, at each of the severities or levels), stages (``"fog-3"``, ``"black_lines-07"``), and
        named stages with explicit parameters (``"ro030=rotate:angle_deg=30:canvas=loose"``).
    severities : sequence of int
        The severities of corruptions in both lists, from 1 to 5. All combinations are created.
    levels : sequence of int
        The levels of gradual degradations in both lists, starting at 1.
    orders : {"both", "given"}
        ``both`` also creates the chains in which the stage of the second list comes first.
    calibration : str or path
        The table of severities. It also determines which images are expected, how they are preprocessed and how they
        are stored, as in ``imagenet-c``, ``imagenet-c-299``, ``tiny-imagenet-c``, ``cifar10-c`` or ``mnist-c``. For a
        table file, the settings of ``imagenet-c`` are used.

    Returns
    -------
    Recipe
        A recipe named ``pairs``.

    Raises
    ------
    RecipeError
        The arguments contain errors. The message lists all of them.

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
        name: [_item_name(item, stages, name, problems) for item in as_list(items)]
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
    return validate_recipe(data, "The recipe of pairs", problems)


def _item_name(item: str, stages: dict[str, Any], side: str, problems: list[str]) -> str:
    """Return the name of an item. A stage with explicit parameters is added to `stages`."""
    name, equals, rest = item.partition("=")
    if not equals or ":" in name:
        if ":" in item:
            problems.append(
                f"{side}: {item!r} gives parameters, so it needs a short name, for example ro030=rotate:angle_deg=30"
            )
        return item.partition(":")[0].strip()
    corruption, *assignments = rest.split(":")
    parameters: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            problems.append(f"{side}: {assignment!r} in {item!r} is not an assignment; expected parameter=value")
        parameters[key.strip()] = parse_value(value.strip())
    stages[name.strip()] = {"corruption": corruption.strip(), "parameters": parameters}
    return name.strip()


def parse_value(text: str) -> bool | int | float | str:
    """Convert the value of a parameter on the command line to a boolean, a number or a string."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def with_severities(recipe: Recipe, severities: Sequence[int]) -> Recipe:
    """Return a copy of a recipe with the given severities in all of its pairs.

    Raises
    ------
    RecipeError
        The recipe has no pairs, or a severity does not exist.
    """
    if not recipe.pairs:
        raise RecipeError(
            f"The recipe {recipe.name} has no pairs, so --severities cannot be used. Select severities with --sets, "
            "such as --sets '*/3,*/5'."
        )
    changed = {"severities": list(severities), "first_severities": None, "second_severities": None}
    data = recipe.model_dump()
    data["pairs"] = [pair | changed for pair in data["pairs"]]
    try:
        return Recipe.model_validate(data)
    except ValidationError as e:
        raise RecipeError(
            f"The severities of the recipe {recipe.name} cannot be used:\n{format_list(error_lines(e))}"
        ) from None


def calibration_for(scheme: str) -> str:
    """Return the default calibration of pairs for a source.

    Examples
    --------
    >>> calibration_for("cifar100"), calibration_for("folder")
    ('cifar', 'imagenet')
    """
    return SOURCE_CALIBRATIONS.get(scheme, "imagenet")


def calibration_note(scheme: str) -> str:
    """Return a note about the calibration that was chosen for the pairs of a source, and its consequences."""
    name = calibration_for(scheme)
    why = (
        f"the images of {scheme} are {IMAGE_DESCRIPTIONS[name]}"
        if scheme in SOURCE_CALIBRATIONS
        else f"it is the default for every source except {', '.join(SOURCE_CALIBRATIONS)}"
    )
    base = load_recipe(BASES[name])
    note = f"The calibration {name} was chosen, because {why}. A severity therefore has the parameters of {base.title}."
    if (size := base.preprocessing.output_size) is not None:
        note += (
            f" As in that dataset, images are resized to {size[0]}x{size[1]} pixels and stored as "
            f"{base.encoding.format.upper()}, unless --encoding is given."
        )
    return f"{note} To choose another calibration, pass --calibration."


def calibration_text(name: str, side: int) -> str:
    """Return the name of a calibration, followed by its meaning in brackets.

    Examples
    --------
    >>> calibration_text("mnist", 28), calibration_text("own", 96)
    ('mnist (the parameters of MNIST-C)', 'own (for images of 96 pixels)')
    """
    known = name in BASES
    return (
        f"{name} ({f'the parameters of {load_recipe(BASES[name]).title}' if known else f'for images of {side} pixels'})"
    )


def vertical_notes(stages: Iterable[Stage | StageRecord]) -> list[str]:
    """Return a note about corruptions whose Gaussian filter acts in one direction only, as in MNIST-C."""
    vertical = sorted({stage.corruption for stage in stages if stage.parameters.get("axes") == "rows"})
    if not vertical:
        return []
    return [
        f"The Gaussian filter of {' and '.join(vertical)} acts in the vertical direction only, as in the released "
        "program of MNIST-C."
    ]


def validation_notes(sets: Sequence[SetSpec]) -> list[str]:
    """Return a note about chains that are excluded from mean scores because they contain a validation corruption."""
    chains = [spec for spec in sets if len(spec.stages) > 1]
    excluded = [spec for spec in chains if spec.role == "validation"]
    used = {stage.corruption for spec in excluded for stage in spec.stages}
    corruptions = sorted(name for name in used if get_corruption(name).role == "validation")
    if not corruptions:
        return []
    return [
        f"{len(excluded)} of {plural(len(chains), 'chain')} have the role validation and are excluded from means over "
        f"test sets, because they contain {' or '.join(corruptions)}, which is meant for choosing a method: "
        f"{first_few([spec.id for spec in excluded])}. To include them, write them in a recipe file with "
        'role = "test".'
    ]
