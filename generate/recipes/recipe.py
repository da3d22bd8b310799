"""Recipes: which sets a benchmark has, at which calibration, after which preprocessing, in which encoding."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from ...corruptions.calibrations import DEFAULT_LADDER, Calibration, get_calibration
from ...errors import CorruptsetError, RecipeError, mistakes, suggest
from ...files import read_text, reason
from ...toml import parse_toml
from ..pixels.encoding import Encoding
from ..pixels.preprocessing import Preprocessing
from .error_lines import said
from .expectations import Expects
from .file_models import LONGEST_NAME, PairEntry, RecipeTable, SetEntry, SetSpec, StageEntry, StageName
from .sets import resolve_sets

_E = TypeVar("_E", bound=RecipeTable)


class Recipe(RecipeTable):
    """A recipe as its TOML file has it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$")]
    title: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    license: str | None = None
    calibration: str
    ladder: Literal["evaluated", "text"] = "evaluated"
    """Whose parameters gradual degradations have."""
    scale: Literal["none", "side"] = "none"
    expects: Expects | None = None
    """What images of a source are like; None is any. What is built does not depend on it, so a manifest's recipe is without."""
    preprocessing: Preprocessing
    encoding: Encoding
    stages: dict[StageName, StageEntry] = {}
    """Stages with names of the recipe's own, which chains and pairs may use."""
    sets: tuple[SetEntry, ...] = ()
    pairs: tuple[PairEntry, ...] = ()

    @model_validator(mode="after")
    def _makes_something(self) -> Recipe:
        if not self.sets and not self.pairs:
            raise ValueError("the recipe has neither [[sets]] nor [[pairs]]; expected at least one")
        return self

    @model_validator(mode="after")
    def _names_a_folder(self) -> Recipe:
        folder = f"{self.name}-{self.version}"
        if len(folder) > LONGEST_NAME:
            raise ValueError(
                f"name and version make a folder's name of {len(folder)} characters, {folder[:20]}...; expected at most {LONGEST_NAME}"
            )
        return self

    def table(self, calibration: str | Path | Calibration | None = None) -> Calibration:
        """Return the calibration that the recipe names, or the one given in its place."""
        found = get_calibration(self.calibration if calibration is None else calibration)
        return found if found.ladder == self.ladder else replace(found, ladder=self.ladder)

    def resolve(self, calibration: str | Path | Calibration | None = None) -> list[SetSpec]:
        """Return every set with every parameter resolved, in the recipe's order.

        Parameters
        ----------
        calibration : str, path or Calibration, optional
            In place of the recipe's.

        Raises
        ------
        RecipeError
            With every mistake at once: a severity that the calibration lacks, parameters that a corruption does not
            take, an id given twice, a chain without an id of its own.
        """
        table = self.table(calibration)
        specs, problems = resolve_sets(enumerate(self.sets, 1), table, stages=self.stages, pairs=enumerate(self.pairs, 1))
        if problems:
            raise RecipeError(mistakes(f"The recipe {self.name}, with calibration {table.name},", problems))
        return specs

    def as_json(self, calibration: str | Path | Calibration | None = None) -> dict[str, Any]:
        """Return the recipe as it stands in a manifest: everything said, the calibration by name and never by path."""
        data = self.model_dump(mode="json", exclude_none=True, exclude={"expects"})
        for entry in data["sets"]:
            if "corruptions" not in entry or "levels" in entry:
                del entry["severities"]
        # What a recipe does not use is not said: manifests stay as they were when a recipe can say more.
        for key, unused in (("ladder", DEFAULT_LADDER), ("stages", {}), ("pairs", [])):
            if data[key] == unused:
                del data[key]
        return data | {"calibration": self.table(calibration).name, "preprocessing": self.preprocessing.as_json()}


def recipe_names() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in files(__package__).iterdir() if f.name.endswith(".toml")))


@cache
def _shipped(name: str) -> Recipe:
    return parse_recipe((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"), f"The shipped recipe {name}")


@cache
def recipe_aliases() -> Mapping[str, str]:
    """Return the other names of the shipped recipes, each with the name that it stands for."""
    found = {}
    for name in recipe_names():
        data = tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
        found.update(dict.fromkeys(data.get("aliases", []), name))
    return found


def load_recipe(recipe: str | Path | Recipe) -> Recipe:
    """Return a recipe by name or alias, or from a user's own file (a path ending in ``.toml``).

    Raises
    ------
    RecipeError
        No such recipe (the nearest is suggested), no such file, or a file with mistakes: each with its key, what was
        given and what was expected.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Path) or recipe.endswith(".toml"):
        path = Path(recipe)
        try:
            text = read_text(path)
        except OSError as e:
            raise RecipeError(f"The recipe file {path} cannot be read: {reason(e)}.") from None
        return parse_recipe(text, f"The recipe file {path}", folder=path.parent)
    name = recipe_aliases().get(recipe, recipe)
    if name not in recipe_names():
        known = [*recipe_names(), *recipe_aliases()]
        raise RecipeError(
            f"There is no recipe {recipe!r}.{suggest(recipe, known)} Known: {', '.join(recipe_names())}, "
            "or the path of a recipe file (.toml)."
        )
    return _shipped(name)


def parse_recipe(text: str, where: str, *, folder: Path | None = None) -> Recipe:
    """Read a recipe from TOML.

    Parameters
    ----------
    text : str
    where : str
        What errors call it.
    folder : Path, optional
        Where a calibration that is a table file is looked for.

    Raises
    ------
    RecipeError
        Every mistake at once: of form, and of the sets whose form is right.
    """
    data = parse_toml(text, where)
    calibration = data.get("calibration")
    if isinstance(calibration, str) and calibration.endswith(".toml") and folder is not None:
        data["calibration"] = str(folder / calibration)
    return recipe_of(data, where)


def recipe_of(data: Mapping[str, Any], where: str, problems: Sequence[str] = ()) -> Recipe:
    """Return the recipe that a file's values are, or raise `RecipeError` with every mistake, and with `problems` before them."""
    calibration = data.get("calibration")
    recipe, problems = None, list(problems)
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as e:
        problems += said(e, Recipe)
    try:
        problems += _problems_of_sets(data) if isinstance(calibration, str) else []
    except CorruptsetError as e:
        problems.append(f"calibration: {e}")
    if recipe is None or problems:
        raise RecipeError(mistakes(where, problems))
    return recipe


def _problems_of_sets(data: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the sets whose form is right."""
    stages = data.get("stages")
    named: dict[str, StageEntry | None] = {}
    for name, entry in stages.items() if isinstance(stages, dict) else []:
        named[name] = None
        with suppress(ValidationError):
            named[name] = StageEntry.model_validate(entry)
    return resolve_sets(
        _well_formed(data.get("sets"), SetEntry),
        get_calibration(data["calibration"]),
        stages=named,
        pairs=_well_formed(data.get("pairs"), PairEntry),
    )[1]


def _well_formed(given: object, model: type[_E]) -> list[tuple[int, _E]]:
    """Return the entries of a list whose form is right, each with its number in the file."""
    found = []
    for number, entry in enumerate(given if isinstance(given, list) else [], 1):
        with suppress(ValidationError):
            found.append((number, model.model_validate(entry)))
    return found
