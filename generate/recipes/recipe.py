"""Recipes: which sets a benchmark has, at which calibration, after which preprocessing, in which encoding."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from ...corruptions.calibrations import DEFAULT_LADDER, Calibration, get_calibration
from ...corruptions.plugins import load_plugin
from ...corruptions.stages import Coupling
from ...error_lines import error_lines
from ...errors import CorruptsetError, PluginError, RecipeError, problems_message, quoted
from ...manifests.records.fields import MAX_NAME_LENGTH
from ..pixels.encoding import Encoding
from ..pixels.preprocessing import Preprocessing
from .expectations import Expects
from .file_models import (
    HoldOutTable,
    PairEntry,
    Published,
    RecipeTable,
    SetEntry,
    StageEntry,
    StageName,
    StorageEntry,
    SurrogateEntry,
)
from .recipe_files import known_name, read_recipe, read_values, with_paths
from .region_table import RegionTable
from .set_spec import SetSpec, merge_chains
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
    plugins: tuple[str, ...] = ()
    """Modules with corruptions of one's own, or their files, relative to the recipe's; a manifest has a record of each
    instead.
    """
    expects: Expects | None = None
    """What images of a source are like; None is any. The built bytes do not depend on it, so it is not in a manifest's
    recipe.
    """
    published: Published | None = None
    """What the sets were made from where they were published; it is not in a manifest's recipe either."""
    surrogate: SurrogateEntry | None = None
    """The model whose gradients sets follow; its own record is in a manifest."""
    hold_out: HoldOutTable | None = None
    """Which groups of the source are held out of training; None is all samples."""
    preprocessing: Preprocessing
    """With regions it follows from them."""
    encoding: Encoding
    storage: StorageEntry = StorageEntry()
    regions: RegionTable | None = None
    """Which square regions of every image are the samples, in place of the images."""
    stages: dict[StageName, StageEntry] = {}
    """Stages with names of the recipe's own, which chains and pairs may use."""
    sets: tuple[SetEntry, ...] = ()
    pairs: tuple[PairEntry, ...] = ()

    def __repr__(self) -> str:
        entries = f"{len(self.sets)} entries of sets, {len(self.pairs)} of pairs, {len(self.stages)} stages of its own"
        return f"<Recipe {self.name} {self.version}: {entries}, calibration {self.calibration}>"

    __str__ = __repr__

    @model_validator(mode="before")
    @classmethod
    def _prepares_regions(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("regions") is None:
            return data
        if "preprocessing" in data:
            raise ValueError(
                "has [regions] and [preprocessing]; leave [preprocessing] out: it follows from the regions"
            )
        preprocessing: dict[str, Any] = {"kind": "none"}
        with suppress(ValidationError):  # which is reported where the regions are looked at themselves
            preprocessing = RegionTable.model_validate(data["regions"]).preprocessing
        return {**data, "preprocessing": preprocessing}

    @model_validator(mode="after")
    def _makes_something(self) -> Recipe:
        if not self.sets and not self.pairs:
            raise ValueError("the recipe has neither [[sets]] nor [[pairs]]; expected at least one")
        return self

    @model_validator(mode="after")
    def _names_a_folder(self) -> Recipe:
        folder = f"{self.name}-{self.version}"
        if len(folder) > MAX_NAME_LENGTH:
            raise ValueError(
                f"name and version make a folder's name of {len(folder)} characters, {folder[:20]}...; expected at "
                f"most {MAX_NAME_LENGTH}"
            )
        return self

    def table(self, calibration: str | Path | Calibration | None = None) -> Calibration:
        """Return the calibration that the recipe names, or the one given in its place."""
        table = get_calibration(self.calibration if calibration is None else calibration)
        return table if table.ladder == self.ladder else replace(table, ladder=self.ladder)

    def resolve(self, calibration: str | Path | Calibration | None = None) -> ResolvedRecipe:
        """Return the recipe with every parameter of every set, resolved once for its own calibration.

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
        table, sets, problems = (
            self._with_own_table if calibration is None else self._with_table(self.table(calibration))
        )
        if problems:
            raise RecipeError(problems_message(f"The recipe {self.name}, with calibration {table.name},", problems))
        return ResolvedRecipe(self, table, tuple(sets))

    @cached_property
    def _with_own_table(self) -> tuple[Calibration, list[SetSpec], list[str]]:
        return self._with_table(self.table())

    def _with_table(self, table: Calibration) -> tuple[Calibration, list[SetSpec], list[str]]:
        """Return the calibration, the sets with its parameters, and the mistakes in them."""
        return table, *resolve_sets(enumerate(self.sets, 1), table, stages=self.stages, pairs=enumerate(self.pairs, 1))


@dataclass(frozen=True)
class ResolvedRecipe:
    """A recipe with the parameters of a calibration."""

    recipe: Recipe
    table: Calibration
    sets: tuple[SetSpec, ...]
    """In the recipe's order."""

    def merged(self, seed: int, coupling: Coupling) -> ResolvedRecipe:
        """Return the recipe with one set for each chain that has pixels of its own."""
        return replace(self, sets=tuple(merge_chains(self.sets, seed, coupling)))

    @property
    def record(self) -> dict[str, Any]:
        """The recipe as it stands in a manifest: every parameter, and no path."""
        data = self.recipe.model_dump(
            mode="json", exclude_none=True, exclude={"expects", "published", "surrogate", "plugins"}
        )
        # Keys with their default value are left out, so that a key added to recipes changes no manifest.
        for key, unused in (("ladder", DEFAULT_LADDER), ("stages", {}), ("pairs", [])):
            if data[key] == unused:
                del data[key]
        return data | {
            "calibration": self.table.name,
            "preprocessing": self.recipe.preprocessing.as_json(),
            "calibration_side": self.table.side,
            "sets": [spec.as_json() for spec in self.sets],
        }


@cache
def _shipped(name: str) -> Recipe:
    text, where, _ = read_recipe(name)
    return parse_recipe(text, where)


def load_recipe(recipe: str | Path | Recipe) -> Recipe:
    """Return a recipe by name or alias, or from a file that ends in ``.toml``.

    Raises
    ------
    RecipeError
        No such recipe (the nearest is suggested), no such file, or a file with mistakes: each with its key, what was
        given and what was expected.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str | os.PathLike):
        raise RecipeError(f"recipe is {quoted(recipe)}; expected the name of a recipe, or the path of a file (.toml).")
    if isinstance(recipe, os.PathLike) or recipe.endswith(".toml"):
        text, where, folder = read_recipe(Path(recipe))
        return parse_recipe(text, where, folder=folder)
    return _shipped(known_name(recipe))


def parse_recipe(text: str, where: str, *, folder: Path | None = None) -> Recipe:
    """Read a recipe from TOML.

    Parameters
    ----------
    text : str
    where : str
        What errors call it.
    folder : Path, optional
        The folder that paths in the recipe are relative to: of a calibration, a surrogate, plugins, and a recipe that
        it extends.

    Raises
    ------
    RecipeError
        Every mistake at once: of form, and of the sets whose form is right.
    """
    return _recipe_at(read_values(text, where, folder), where)


def located_recipe(data: dict[str, Any], where: str, folder: Path | None) -> Recipe:
    """Return the recipe of a file's values, in which paths are relative to `folder`; plugins are loaded."""
    return _recipe_at(with_paths(data, folder), where)


def _recipe_at(data: dict[str, Any], where: str) -> Recipe:
    """Return the recipe of a file's values, once its plugins are loaded."""
    plugins, problems = data.get("plugins"), []
    for name in plugins if isinstance(plugins, list) and all(isinstance(name, str) for name in plugins) else []:
        try:
            load_plugin(name)
        except PluginError as e:
            problems.append(f"plugins: {e}")
    return recipe_of(data, where, problems)


def recipe_of(data: Mapping[str, Any], where: str, problems: Sequence[str] = ()) -> Recipe:
    """Return the recipe of a file's values, or raise `RecipeError` with every mistake."""
    recipe, problems = None, list(problems)
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as e:
        problems += error_lines(e)
    try:
        problems += _problems_of_sets(data) if recipe is None else recipe._with_own_table[2]
    except CorruptsetError as e:
        problems.append(f"calibration: {e}")
    if recipe is None or problems:
        raise RecipeError(problems_message(where, problems))
    return recipe


def _problems_of_sets(data: Mapping[str, Any]) -> list[str]:
    """Return the mistakes in well-formed sets of a file with another mistake."""
    if not isinstance(data.get("calibration"), str):
        return []
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
    """Return the well-formed entries of a list, each with its number in the file."""
    entries = []
    for number, entry in enumerate(given if isinstance(given, list) else [], 1):
        with suppress(ValidationError):
            entries.append((number, model.model_validate(entry)))
    return entries
