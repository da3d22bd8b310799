"""Recipes, which define the sets, the calibration, the preprocessing and the encoding of a benchmark."""

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
from ...errors import CorruptsetError, PluginError, RecipeError, problems_message, quote
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
from .recipe_files import canonical_name, read_recipe, read_values, with_paths
from .region_table import RegionTable
from .set_spec import SetSpec, merge_chains
from .sets import resolve_sets

_E = TypeVar("_E", bound=RecipeTable)


class Recipe(RecipeTable):
    """The contents of a recipe file."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$")]
    title: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    license: str | None = None
    calibration: str
    ladder: Literal["evaluated", "text"] = "evaluated"
    """The parameter table of gradual degradations."""
    scale: Literal["none", "side"] = "none"
    plugins: tuple[str, ...] = ()
    """Python modules with additional corruptions, or paths of such modules relative to the recipe file. The manifest
    contains a record of each plugin instead of its path.
    """
    expects: Expects | None = None
    """The expected images, or None if all images are accepted. This field does not influence the images that are built,
    so the recipe in a manifest does not contain the field.
    """
    published: Published | None = None
    """The images from which the published sets were made. The recipe in a manifest does not contain this field."""
    surrogate: SurrogateEntry | None = None
    """The model whose gradients are used to make some sets. The manifest contains a separate record of the model."""
    hold_out: HoldOutTable | None = None
    """The groups of the source that are held out of training, or None to use all samples."""
    preprocessing: Preprocessing
    """How images are resized and cropped. If the recipe has regions, this field is derived from the regions."""
    encoding: Encoding
    storage: StorageEntry = StorageEntry()
    regions: RegionTable | None = None
    """The square regions of images that are the samples of the dataset, or None if the samples are complete images."""
    stages: dict[StageName, StageEntry] = {}
    """Named stages, which chains and pairs may use."""
    sets: tuple[SetEntry, ...] = ()
    pairs: tuple[PairEntry, ...] = ()

    def __repr__(self) -> str:
        entries = f"{len(self.sets)} [[sets]], {len(self.pairs)} [[pairs]], {len(self.stages)} named stages"
        return f"<Recipe {self.name} {self.version}: {entries}, calibration {self.calibration}>"

    __str__ = __repr__

    @model_validator(mode="before")
    @classmethod
    def _derive_preprocessing(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("regions") is None:
            return data
        if "preprocessing" in data:
            raise ValueError(
                "has [regions] and [preprocessing]; leave [preprocessing] out, because it is derived from the regions"
            )
        preprocessing: dict[str, Any] = {"kind": "none"}
        with suppress(ValidationError):  # the validation of the field `regions` reports an error
            preprocessing = RegionTable.model_validate(data["regions"]).preprocessing
        return {**data, "preprocessing": preprocessing}

    @model_validator(mode="after")
    def _check_sets(self) -> Recipe:
        if not self.sets and not self.pairs:
            raise ValueError("the recipe has neither [[sets]] nor [[pairs]]; expected at least one of them")
        return self

    @model_validator(mode="after")
    def _check_folder_name(self) -> Recipe:
        folder = f"{self.name}-{self.version}"
        if len(folder) > MAX_NAME_LENGTH:
            raise ValueError(
                f"the folder name {folder[:20]}..., which consists of name and version, has {len(folder)} characters; "
                f"expected at most {MAX_NAME_LENGTH}"
            )
        return self

    def table(self, calibration: str | Path | Calibration | None = None) -> Calibration:
        """Return the given calibration, or by default the calibration that the recipe names."""
        table = get_calibration(self.calibration if calibration is None else calibration)
        return table if table.ladder == self.ladder else replace(table, ladder=self.ladder)

    def resolve(self, calibration: str | Path | Calibration | None = None) -> ResolvedRecipe:
        """Return the recipe together with the parameters of every set.

        Parameters
        ----------
        calibration : str, path or Calibration, optional
            A calibration to use instead of the recipe's own calibration.

        Raises
        ------
        RecipeError
            The sets contain errors. The message lists all of them. Examples are a severity that the calibration does
            not have, unknown parameters, a duplicate id, or a chain that needs an id.
        """
        table, sets, problems = self._resolved_sets if calibration is None else self._resolve(self.table(calibration))
        if problems:
            raise RecipeError(problems_message(f"The recipe {self.name}, with calibration {table.name},", problems))
        return ResolvedRecipe(self, table, tuple(sets))

    @cached_property
    def _resolved_sets(self) -> tuple[Calibration, list[SetSpec], list[str]]:
        return self._resolve(self.table())

    def _resolve(self, table: Calibration) -> tuple[Calibration, list[SetSpec], list[str]]:
        """Return the calibration, the sets with parameters from this calibration, and the mistakes in the sets."""
        return table, *resolve_sets(enumerate(self.sets, 1), table, stages=self.stages, pairs=enumerate(self.pairs, 1))


@dataclass(frozen=True)
class ResolvedRecipe:
    """A recipe together with the parameters of its sets from a calibration."""

    recipe: Recipe
    table: Calibration
    sets: tuple[SetSpec, ...]
    """The sets in the order of the recipe."""

    def merged(self, seed: int, coupling: Coupling) -> ResolvedRecipe:
        """Return the recipe with one set per distinct chain. Sets with equal pixels are merged."""
        return replace(self, sets=tuple(merge_chains(self.sets, seed, coupling)))

    @property
    def record(self) -> dict[str, Any]:
        """The record of the recipe in a manifest, with every parameter and without paths."""
        data = self.recipe.model_dump(
            mode="json", exclude_none=True, exclude={"expects", "published", "surrogate", "plugins"}
        )
        # These keys are omitted if they have their default value, so that adding a key does not change manifests.
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
def _load_shipped(name: str) -> Recipe:
    text, where, _ = read_recipe(name)
    return parse_recipe(text, where)


def load_recipe(recipe: str | Path | Recipe) -> Recipe:
    """Return a recipe by name or alias, or from a file that ends in ``.toml``.

    Raises
    ------
    RecipeError
        The recipe or the file does not exist, or the file contains errors. The message suggests a similar name, or
        lists every error with its key, its value and what was expected.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str | os.PathLike):
        raise RecipeError(f"recipe is {quote(recipe)}; expected the name of a recipe, or the path of a file (.toml).")
    if isinstance(recipe, os.PathLike) or recipe.endswith(".toml"):
        text, where, folder = read_recipe(Path(recipe))
        return parse_recipe(text, where, folder=folder)
    return _load_shipped(canonical_name(recipe))


def parse_recipe(text: str, where: str, *, folder: Path | None = None) -> Recipe:
    """Read a recipe from TOML.

    Parameters
    ----------
    text : str
        The content of the recipe file.
    where : str
        The name of the recipe for error messages.
    folder : Path, optional
        The folder that paths in the recipe are relative to. A recipe may contain paths to a calibration, a surrogate,
        plugins, and another recipe that it extends.

    Raises
    ------
    RecipeError
        The recipe contains errors. The message lists all of them.
    """
    return _recipe_at(read_values(text, where, folder), where)


def recipe_from_values(data: dict[str, Any], where: str, folder: Path | None) -> Recipe:
    """Load the plugins that a recipe file names, and return the recipe. Paths in `data` are relative to `folder`."""
    return _recipe_at(with_paths(data, folder), where)


def _recipe_at(data: dict[str, Any], where: str) -> Recipe:
    """Load the plugins that a recipe file names, and return the recipe."""
    plugins, problems = data.get("plugins"), []
    for name in plugins if isinstance(plugins, list) and all(isinstance(name, str) for name in plugins) else []:
        try:
            load_plugin(name)
        except PluginError as e:
            problems.append(f"plugins: {e}")
    return validate_recipe(data, where, problems)


def validate_recipe(data: Mapping[str, Any], where: str, problems: Sequence[str] = ()) -> Recipe:
    """Return the recipe that the values of a file define, or raise `RecipeError` with every mistake.

    `problems` are mistakes that have already been found. The error message includes these mistakes.
    """
    recipe, problems = None, list(problems)
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as e:
        problems += error_lines(e)
    try:
        problems += _problems_of_sets(data) if recipe is None else recipe._resolved_sets[2]
    except CorruptsetError as e:
        problems.append(f"calibration: {e}")
    if recipe is None or problems:
        raise RecipeError(problems_message(where, problems))
    return recipe


def _problems_of_sets(data: Mapping[str, Any]) -> list[str]:
    """Return the mistakes in the well-formed sets of a file that also has other mistakes."""
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
