"""Recipes: which sets a benchmark has, at which calibration, after which preprocessing, in which encoding."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from ...corruptions.add_ons import installed_files, where_to_get
from ...corruptions.calibrations import DEFAULT_LADDER, Calibration, get_calibration
from ...corruptions.plugins import load_plugin
from ...corruptions.registry import corruption_names
from ...corruptions.stages import Coupling
from ...error_lines import mistake_lines
from ...errors import CorruptsetError, PluginError, RecipeError, mistakes, suggest, unread_settings
from ...files import parse_toml, read_text, reason
from ...manifests.records.fields import LONGEST_NAME, Storage
from ..pixels.encoding import Encoding
from ..pixels.preprocessing import Preprocessing, Side
from .expectations import Expects
from .file_models import PairEntry, RecipeTable, SetEntry, StageEntry, StageName
from .region_table import RegionTable
from .set_spec import SetSpec, merge_chains
from .sets import resolve_sets

_E = TypeVar("_E", bound=RecipeTable)


class Published(RecipeTable):
    """``[published]``: what the sets of a recipe were made from where they were published."""

    source: Annotated[str, Field(min_length=1)]
    images: Annotated[int, Field(strict=True, ge=1)] | None = None
    """None where the publication does not say how many."""
    size: tuple[Side, Side] | None = None
    """(width, height) of the images, where all are of one."""
    channels: Literal["rgb", "grey"] = "rgb"


class SurrogateEntry(RecipeTable):
    """``[surrogate]``: the model whose gradients the sets of a recipe follow."""

    file: Annotated[str, Field(min_length=1)]
    """A model file, relative to the recipe's."""
    device: str = "cpu"
    batch: Annotated[int, Field(strict=True, ge=1)] = 1


class StorageEntry(RecipeTable):
    """``[storage]``: how the images of a dataset are stored."""

    container: Storage = "folder"
    """``folder`` stores image files, ``hdf5`` stores shards of one set each, ``both`` stores every image twice."""


class HoldOutTable(RecipeTable):
    """``[hold_out]``: the groups for testing; all others are for training (``--train``)."""

    groups: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """Names, or shell patterns; of these some may match nothing."""
    grouping: Annotated[str, Field(min_length=1)] | None = None
    """What the groups are, for a source that knows several kinds: ``style`` or ``subtype`` of icons50."""


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
        if len(folder) > LONGEST_NAME:
            raise ValueError(
                f"name and version make a folder's name of {len(folder)} characters, {folder[:20]}...; expected at "
                f"most {LONGEST_NAME}"
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
            raise RecipeError(mistakes(f"The recipe {self.name}, with calibration {table.name},", problems))
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


def recipe_names() -> tuple[str, ...]:
    """Return the names of the shipped recipes and of those installed beside them."""
    return tuple(sorted(_files()))


@cache
def _files() -> dict[str, Traversable]:
    """Return the file of each recipe of this package, and of those installed beside it."""
    own = {f.name.removesuffix(".toml"): f for f in files(__package__).iterdir() if f.name.endswith(".toml")}
    return installed_files("recipes") | own


@cache
def _shipped(name: str) -> Recipe:
    file = _files()[name]
    whose = (
        f"The installed recipe {file}" if installed_files("recipes").get(name) is file else f"The shipped recipe {name}"
    )
    return parse_recipe(file.read_text(encoding="utf-8"), whose)


@cache
def recipe_aliases() -> Mapping[str, str]:
    """Return other names of the shipped recipes -> the names they stand for."""
    aliases = {}
    for name in recipe_names():
        with suppress(ValueError):  # of somebody else's file, which says so when it is asked for
            data = tomllib.loads(_files()[name].read_text(encoding="utf-8"))
            aliases.update(dict.fromkeys(data.get("aliases", []), name))
    return aliases


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
        if name in corruption_names():
            raise RecipeError(
                f"{name!r} is a corruption, and a recipe is expected: `corruptset build imagenet-c --sets '{name}/*'`."
            )
        hint = f"{suggest(recipe, known)} `corruptset list recipes` names all; the path of a recipe file ends in .toml."
        raise RecipeError(f"There is no recipe {recipe!r}.{unread_settings(recipe) or where_to_get(recipe) or hint}")
    return _shipped(name)


def parse_recipe(text: str, where: str, *, folder: Path | None = None) -> Recipe:
    """Read a recipe from TOML.

    Parameters
    ----------
    text : str
    where : str
        What errors call it.
    folder : Path, optional
        Where a calibration that is a table file, a surrogate's file, and plugins that are files, are searched.

    Raises
    ------
    RecipeError
        Every mistake at once: of form, and of the sets whose form is right.
    """
    data = parse_toml(text, where)
    if "stream" in data:
        raise RecipeError(f"{where} is a stream's: `corruptset stream FILE.toml` makes it.{where_to_get('stream')}")
    return located_recipe(data, where, folder)


def located_recipe(data: dict[str, Any], where: str, folder: Path | None) -> Recipe:
    """Return a file's recipe, whose other files lie relative to `folder`; plugins are loaded."""
    calibration = data.get("calibration")
    if isinstance(calibration, str) and calibration.endswith(".toml") and folder is not None:
        data["calibration"] = str(folder / calibration)
    surrogate = data.get("surrogate")
    if isinstance(surrogate, dict) and isinstance(surrogate.get("file"), str) and folder is not None:
        data["surrogate"] = surrogate | {"file": str(folder / surrogate["file"])}
    plugins, problems = data.get("plugins"), []
    for name in plugins if isinstance(plugins, list) and all(isinstance(name, str) for name in plugins) else []:
        try:
            load_plugin(name if folder is None or not name.endswith(".py") else folder / name)
        except PluginError as e:
            problems.append(f"plugins: {e}")
    return recipe_of(data, where, problems)


def recipe_of(data: Mapping[str, Any], where: str, problems: Sequence[str] = ()) -> Recipe:
    """Return the recipe of a file's values, or raise `RecipeError` with every mistake."""
    recipe, problems = None, list(problems)
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as e:
        problems += mistake_lines(e, Recipe)
    try:
        problems += _problems_of_sets(data) if recipe is None else recipe._with_own_table[2]
    except CorruptsetError as e:
        problems.append(f"calibration: {e}")
    if recipe is None or problems:
        raise RecipeError(mistakes(where, problems))
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
