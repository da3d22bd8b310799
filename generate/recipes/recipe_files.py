"""Find and read recipe files, and combine a recipe with the recipe that it extends."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ...corruptions.add_ons import install_hint, installed_files
from ...corruptions.registry import corruption_names
from ...errors import RecipeError, format_list, suggest
from ...files import parse_toml, read_text, reason


def recipe_names() -> tuple[str, ...]:
    """Return the names of all recipes from corruptset and from installed add-ons."""
    return tuple(sorted(_files()))


@cache
def _files() -> dict[str, Traversable]:
    """Return the files of all recipes from corruptset and from installed add-ons, by recipe name."""
    shipped = {f.name.removesuffix(".toml"): f for f in files(__package__).iterdir() if f.name.endswith(".toml")}
    return installed_files("recipes") | shipped


@cache
def recipe_aliases() -> Mapping[str, str]:
    """Return a mapping from aliases to names, for all installed recipes."""
    aliases = {}
    for name in recipe_names():
        with suppress(ValueError):  # a mistake in the file of an add-on is reported when that recipe is loaded
            data = tomllib.loads(_files()[name].read_text(encoding="utf-8"))
            aliases.update(dict.fromkeys(data.get("aliases", []), name))
    return aliases


def read_recipe(recipe: str | Path) -> tuple[str, str, Path | None]:
    """Return the TOML text of a recipe, its name for error messages, and the folder of its file.

    The folder is None for an installed recipe such as ``imagenet-c``.

    Raises
    ------
    RecipeError
        The recipe does not exist, or its file cannot be read.
    """
    if isinstance(recipe, Path) or recipe.endswith(".toml"):
        path = Path(recipe)
        try:
            return read_text(path), f"The recipe file {path}", path.parent
        except OSError as e:
            raise RecipeError(f"The recipe file {path} cannot be read: {reason(e)}.") from None
    name = canonical_name(recipe)
    file = _files()[name]
    installed = installed_files("recipes").get(name) is file
    return file.read_text(encoding="utf-8"), f"The installed recipe {file}" if installed else f"The recipe {name}", None


def canonical_name(recipe: str) -> str:
    """Return the name of the installed recipe that has this name or alias, or raise `RecipeError` if none has it."""
    name = recipe_aliases().get(recipe, recipe)
    if name in recipe_names():
        return name
    if name in corruption_names():
        raise RecipeError(
            f"{name!r} is a corruption, but a recipe is expected: `corruptset build imagenet-c --sets '{name}/*'`."
        )
    known = [*recipe_names(), *recipe_aliases()]
    hint = f"{suggest(recipe, known)} `corruptset list recipes` lists all names. A recipe file must end in .toml."
    raise RecipeError(f"There is no recipe {recipe!r}.{install_hint(recipe) or hint}")


def read_values(text: str, where: str, folder: Path | None, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the values of a recipe file, combined with the values of the recipe that it extends.

    Paths become relative to the current folder. `seen` contains the names of the recipes that extend this recipe.
    """
    data = parse_toml(text, where)
    if "stream" in data:
        raise RecipeError(
            f"{where} describes a stream. Build it with `corruptset stream FILE.toml`.{install_hint('stream')}"
        )
    data = with_paths(data, folder)
    base = data.pop("extends", None)
    if base is None:
        return data
    if not isinstance(base, str):
        raise RecipeError(f"{where}: extends is {base!r}; expected the name or the path of a recipe, as text.")
    if where in seen:
        raise RecipeError(
            f"These recipes extend each other in a circle. Remove `extends` from one of them:\n{format_list(seen)}"
        )
    try:
        source = read_recipe((folder / base).resolve() if base.endswith(".toml") and folder is not None else base)
    except RecipeError as e:
        raise RecipeError(f"{where}: the recipe that it extends cannot be read. {e}") from None
    return extend(read_values(*source, (*seen, where)), data)


def extend(base: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Combine the values of a recipe file with the values of the recipe that it extends (`base`).

    A key or a table in the file completely replaces the same key or table in the base. If the file has sets or pairs,
    both lists of the base are dropped. If the file has regions, the preprocessing of the base is dropped, and vice
    versa. The keys that describe the base itself, such as its name and version, are not inherited.

    Examples
    --------
    >>> base = {"name": "a", "title": "A", "encoding": {"format": "jpeg", "quality": 85}, "sets": [{"clean": True}]}
    >>> extend(base, {"name": "b", "encoding": {"format": "png"}})
    {'sets': [{'clean': True}], 'name': 'b', 'encoding': {'format': 'png'}}
    """
    replaced = {*data, "name", "version", "title", "description", "aliases", "published"}
    for group in ({"sets", "pairs"}, {"preprocessing", "regions"}):
        replaced |= group if group & data.keys() else set()
    return {key: value for key, value in base.items() if key not in replaced} | dict(data)


def with_paths(data: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the values of a recipe file with paths relative to the current folder instead of the file's folder."""
    if folder is None:
        return data
    calibration, surrogate, plugins = data.get("calibration"), data.get("surrogate"), data.get("plugins")
    if isinstance(calibration, str) and calibration.endswith(".toml"):
        data["calibration"] = str(folder / calibration)
    if isinstance(surrogate, dict) and isinstance(surrogate.get("file"), str):
        data["surrogate"] = surrogate | {"file": str(folder / surrogate["file"])}
    if isinstance(plugins, list):
        data["plugins"] = [str(folder / p) if isinstance(p, str) and p.endswith(".py") else p for p in plugins]
    return data
