"""Recipes: which sets a benchmark has, at which calibration, after which preprocessing, in which encoding."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from ..canonical import canonical
from ..corruptions.calibrations import Calibration, get_calibration
from ..corruptions.registry import corruption_names, get_corruption
from ..corruptions.stages import Stage, parse_chain, resolve_stage, set_id
from ..errors import CorruptsetError, RecipeError, suggest
from ..manifests.models import SetId
from .mistakes import said
from .preprocessing import Preprocessing

Role = Literal["test", "validation"]


@dataclass(frozen=True)
class SetSpec:
    """One set of a build: its id, its chain of stages, its role, its other names."""

    id: str
    stages: tuple[Stage, ...]
    role: Role = "test"
    aliases: tuple[str, ...] = ()


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Jpeg(_Model):
    """JPEG, as the published sets are stored."""

    format: Literal["jpeg"]
    quality: Annotated[int, Field(strict=True, ge=1, le=100)] = 85
    optimize: Annotated[bool, Field(strict=True)] = False
    """Optimised Huffman tables: smaller files, the same pixels, slower."""
    subsampling: Literal["4:2:0", "4:2:2", "4:4:4"] = "4:2:0"


class Png(_Model):
    """PNG: lossless."""

    format: Literal["png"]


Encoding = Annotated[Jpeg | Png, Field(discriminator="format")]


def _known_corruption(name: str) -> str:
    if name not in corruption_names():
        raise ValueError(f"there is no corruption {name!r}.{suggest(name, corruption_names())} Known: {', '.join(corruption_names())}.")
    return name


CorruptionName = Annotated[str, AfterValidator(_known_corruption)]
Severity = Annotated[int, Field(strict=True, ge=1, le=5)]


class StageEntry(_Model):
    """A stage of a chain, written as a table."""

    corruption: CorruptionName
    severity: Severity | None = None
    parameters: dict[str, Any] = {}


ChainItem = Annotated[
    Annotated[str, Tag("text")] | Annotated[StageEntry, Tag("table")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "table"),
]


class SetEntry(_Model):
    """One ``[[sets]]`` of a recipe: corruptions x severities, one chain, or the clean images."""

    corruptions: Annotated[tuple[CorruptionName, ...], Field(min_length=1)] | None = None
    severities: Annotated[tuple[Severity, ...], Field(min_length=1)] = (1, 2, 3, 4, 5)
    chain: Annotated[tuple[ChainItem, ...], Field(min_length=1)] | None = None
    clean: Literal[True] | None = None
    id: SetId | None = None
    aliases: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    role: Role | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> SetEntry:
        kinds = [k for k in ("corruptions", "chain", "clean") if getattr(self, k) is not None]
        if len(kinds) != 1:
            raise ValueError(f"has {' and '.join(kinds) or 'none of them'}; expected exactly one of corruptions, chain, clean")
        if self.corruptions is None and "severities" in self.model_fields_set:
            raise ValueError("severities go with corruptions; a chain has them in its stages ('fog-3')")
        if self.chain is None and self.id is not None:
            raise ValueError("id goes with chain; other sets have ids of their own")
        if self.corruptions is not None and self.aliases:
            raise ValueError("aliases go with chain or clean: one name cannot stand for many sets")
        return self


class Recipe(_Model):
    """A recipe as its TOML file has it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$")]
    title: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    license: str | None = None
    calibration: str
    scale: Literal["none", "side"] = "none"
    preprocessing: Preprocessing
    encoding: Encoding
    sets: Annotated[tuple[SetEntry, ...], Field(min_length=1)]

    def table(self, calibration: str | Path | Calibration | None = None) -> Calibration:
        """Return the calibration that the recipe names, or the one given in its place."""
        return get_calibration(self.calibration if calibration is None else calibration)

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
        specs, problems = resolve_sets(list(enumerate(self.sets, 1)), table)
        if problems:
            raise RecipeError(_report(f"The recipe {self.name}, with calibration {table.name},", problems))
        return specs

    def as_json(self, calibration: str | Path | Calibration | None = None) -> dict[str, Any]:
        """Return the recipe as it stands in a manifest: everything said, the calibration by name and never by path."""
        data = self.model_dump(mode="json", exclude_none=True)
        for entry in data["sets"]:
            if "corruptions" not in entry:
                del entry["severities"]
        return data | {"calibration": self.table(calibration).name, "preprocessing": self.preprocessing.as_json()}


def resolve_sets(entries: Iterable[tuple[int, SetEntry]], table: Calibration) -> tuple[list[SetSpec], list[str]]:
    """Return the sets of a recipe's entries, each with its number in the file, and every mistake in them.

    Entries that name one chain twice under different ids are one set: the first id stays, the others become aliases.
    """
    problems: list[str] = []
    specs: list[SetSpec] = []
    for number, entry in entries:
        where = f"[[sets]] {number}"
        for stages, name in _chains(entry, table, where, problems):
            role: Role = "validation" if any(get_corruption(s.corruption).role == "validation" for s in stages) else "test"
            try:
                specs.append(SetSpec(name or set_id(stages), stages, entry.role or role, entry.aliases))
            except CorruptsetError as e:
                problems.append(f'{where}: {e} Expected id = "..." beside chain')
            if name is not None:
                problems += [f"{where}: {p}" for p in _id_problem(name, stages, table)]
    problems += _clashes(specs)
    merged: dict[bytes, SetSpec] = {}
    for spec in specs:
        key = canonical([stage.as_json() for stage in spec.stages])
        first = merged.get(key)
        if first is not None and first.role != spec.role:
            problems.append(f"the sets {first.id!r} and {spec.id!r} are one chain of stages with two roles, {first.role} and {spec.role}")
        merged[key] = spec if first is None else replace(first, aliases=(*first.aliases, spec.id, *spec.aliases))
    return list(merged.values()), problems


def _chains(entry: SetEntry, table: Calibration, where: str, problems: list[str]) -> Iterable[tuple[tuple[Stage, ...], str | None]]:
    if entry.clean:
        yield (), None
    for name in entry.corruptions or ():
        for severity in entry.severities:
            try:
                yield (resolve_stage(name, table, severity=severity),), None
            except CorruptsetError as e:
                problems.append(f"{where}: {e}")
    if entry.chain is not None:
        stages: list[Stage] = []
        failed = False
        for item in entry.chain:
            try:
                if isinstance(item, str):
                    stages += parse_chain(item, table)
                else:
                    stages.append(resolve_stage(item.corruption, table, severity=item.severity, parameters=item.parameters))
            except CorruptsetError as e:
                failed = True
                problems.append(f"{where}: {e}")
        if not failed:
            yield tuple(stages), entry.id


def _id_problem(name: str, stages: tuple[Stage, ...], table: Calibration) -> list[str]:
    """Return what is wrong with a given id: one that reads as a chain of severities must be that chain."""
    try:
        meant = parse_chain(name, table)
    except CorruptsetError:
        return []
    return [] if meant == stages else [f"the id {name!r} is that of another chain of stages; choose another id"]


def _clashes(specs: list[SetSpec]) -> list[str]:
    """Return what is wrong with the ids and aliases of sets that stand side by side."""
    problems: list[str] = []
    owner: dict[str, SetSpec] = {}
    for spec in specs:
        for name in (spec.id, *spec.aliases):
            if name in owner:
                problems.append(f"the set name {name!r} is given twice; every id and alias must be one set's alone")
            owner.setdefault(name, spec)
    ids = {s.id for s in specs}
    for one in sorted(ids):
        above = one.split("/")
        for i in range(1, len(above)):
            if "/".join(above[:i]) in ids:
                problems.append(f"the set id {'/'.join(above[:i])!r} is a folder of the set {one!r}; rename one of them")
    return problems


def _report(where: str, problems: list[str]) -> str:
    return f"{where} has {len(problems)} mistake{'s' * (len(problems) > 1)}:\n" + "\n".join(f"  {p}" for p in problems)


def recipe_names() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in (files(__package__) / "recipes").iterdir() if f.name.endswith(".toml")))


@cache
def _shipped(name: str) -> Recipe:
    return parse_recipe((files(__package__) / "recipes" / f"{name}.toml").read_text(encoding="utf-8"), f"The shipped recipe {name}")


@cache
def recipe_aliases() -> Mapping[str, str]:
    """Return the other names of the shipped recipes, each with the name that it stands for."""
    found = {}
    for name in recipe_names():
        data = tomllib.loads((files(__package__) / "recipes" / f"{name}.toml").read_text(encoding="utf-8"))
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
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise RecipeError(f"The recipe file {path} cannot be read: {e}.") from None
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
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise RecipeError(f"{where} is not TOML: {e}.") from None
    calibration = data.get("calibration")
    if isinstance(calibration, str) and calibration.endswith(".toml") and folder is not None:
        data["calibration"] = str(folder / calibration)
    recipe, problems, entries = None, [], []
    try:
        recipe = Recipe.model_validate(data)
        entries = list(enumerate(recipe.sets, 1))
    except ValidationError as e:
        problems = said(e, Recipe)
        given = data.get("sets")
        for number, entry in enumerate(given if isinstance(given, list) else [], 1):
            with suppress(ValidationError):
                entries.append((number, SetEntry.model_validate(entry)))
    try:
        problems += resolve_sets(entries, get_calibration(data["calibration"]))[1] if isinstance(calibration, str) else []
    except CorruptsetError as e:
        problems.append(f"calibration: {e}")
    if recipe is None or problems:
        raise RecipeError(_report(where, problems))
    return recipe
