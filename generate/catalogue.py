"""List all corruptions, recipes, sources and calibrations, with short descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..corruptions.add_ons import load_each
from ..corruptions.calibrations import SHIPPED, Calibration, calibration_names, get_calibration
from ..corruptions.plugins import load_installed, load_plugins
from ..corruptions.registry import Corruption, corruption_names, get_corruption
from ..corruptions.rows import Row
from ..errors import ParameterError, suggest
from .recipes.recipe import Recipe, load_recipe
from .recipes.recipe_files import recipe_names
from .sinks.sink import stored_bytes
from .sources.source import schemes

ListKind = Literal["corruptions", "recipes", "sources", "calibrations"]


@dataclass(frozen=True)
class Outline:
    """A short description of a recipe."""

    name: str
    version: str
    aliases: tuple[str, ...]
    title: str
    description: str
    sets: int
    calibration: str
    size: tuple[int, int] | None
    """The width and height of an image, or None if images keep their size from the source."""
    source: str
    """The dataset for which the recipe is intended."""
    samples: int | None
    """The number of images in that dataset, or None if it is not known."""
    images: int | None
    """The number of images in all sets together, or None if it is not known."""
    bytes_per_sample: int | None
    """The estimated size, in bytes, of one sample's images in all sets together, or None if it is not known."""
    bytes: int | None
    """The estimated size of all images in bytes, or None if their number or size is not known."""

    def as_json(self) -> dict[str, Any]:
        """Return the description as JSON values."""
        return asdict(self) | {"aliases": list(self.aliases), "size": None if self.size is None else list(self.size)}


def names(
    what: ListKind = "corruptions",
    *,
    family: str | None = None,
    role: str | None = None,
    plugins: Sequence[str | Path] | None = None,
) -> list[str]:
    """Return the names of all corruptions, or of all recipes, sources or calibrations.

    Parameters
    ----------
    what : {"corruptions", "recipes", "sources", "calibrations"}
        The kind of names to return.
    family : str, optional
        Return only corruptions in this family: noise, blur, weather, digital, shape, gradual, adversarial or plugin.
    role : {"test", "validation", "train"}, optional
        Return only corruptions with this role. The four extra corruptions of ImageNet-C, which were published for
        tuning, have the role ``validation``.
    plugins : sequence of str or path, optional
        Python modules or files that define further corruptions. Installed plugins are always included.

    Returns
    -------
    list of str
        The names. Corruptions are sorted by family, with those from plugins at the end.

    Raises
    ------
    ParameterError
        The kind, the family or the role does not exist.

    Examples
    --------
    >>> names(family="weather")
    ['brightness', 'fog', 'frost', 'snow', 'spatter']
    """
    load_plugins(plugins or ())
    load_installed()
    known: dict[str, Iterable[str]] = {
        "corruptions": corruption_names(),
        "recipes": recipe_names(),
        "sources": schemes(),
        "calibrations": calibration_names(),
    }
    if what not in known:
        raise ParameterError(
            f"There are no names of the kind {what!r}.{suggest(what, known)} Known kinds: {', '.join(known)}."
        )
    if family is None and role is None:
        return list(known[what])
    if what != "corruptions":
        raise ParameterError(
            f"family and role apply only to corruptions, but names of {what} were requested. Leave them out."
        )
    declared = [get_corruption(name) for name in corruption_names()]
    for field, given, existing in (
        ("family", family, {d.family for d in declared}),
        ("role", role, {d.role for d in declared}),
    ):
        if given is not None and given not in existing:
            raise ParameterError(
                f"There is no {field} {given!r}.{suggest(given, existing)} Known: {', '.join(sorted(existing))}."
            )
    return [d.name for d in declared if family in (None, d.family) and role in (None, d.role)]


def recipes() -> list[Outline]:
    """Return a short description of every shipped recipe."""
    return [outline(recipe) for recipe in load_each(load_recipe, recipe_names())]


def catalogue(what: ListKind, *, plugins: Sequence[str | Path] | None = None) -> list[dict[str, Any]]:
    """Return the descriptions that `corruptset list --json` prints."""
    load_plugins(plugins or ())
    if what == "corruptions":
        load_installed()
        tables = [get_calibration(name).rows for name in SHIPPED]
        return [_corruption(get_corruption(name), tables) for name in corruption_names()]
    if what == "sources":
        return [{"source": name, "about": scheme.help} for name, scheme in schemes().items()]
    if what == "calibrations":
        return [_calibration(table) for table in load_each(get_calibration, calibration_names())]
    return [recipe.as_json() for recipe in recipes()]


def _corruption(corruption: Corruption, tables: Sequence[Mapping[str, Mapping[int, Row]]]) -> dict[str, Any]:
    """Return a short description of a corruption."""
    return {
        **{field: getattr(corruption, field) for field in ("name", "family", "role", "revision")},
        # the severities for which a shipped calibration has parameters
        "severities": sorted({severity for rows in tables for severity in rows.get(corruption.name, {})}),
        # the last level of a gradual degradation
        "levels": None if corruption.gradual is None else corruption.gradual.most,
        "parameters": [p.name for p in corruption.columns],
        "options": {p.name: p.default for p in corruption.parameters if p.option},
        "draws": [d.name for d in corruption.draws],
        "deterministic": corruption.deterministic,
        "preserves_geometry": corruption.preserves_geometry,
    }


def _calibration(table: Calibration) -> dict[str, Any]:
    """Return a short description of a calibration, with its reference side and the sources of its parameters."""
    cited = {row.source.split(",")[0] for by_severity in table.rows.values() for row in by_severity.values()}
    return {"name": table.name, "side": table.side, "corruptions": len(table.rows), "sources": sorted(cited)}


def outline(recipe: Recipe) -> Outline:
    """Return a short description of a recipe.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    Outline
        The description. Sizes in bytes are estimated for the recipe's default container.

    Examples
    --------
    >>> from corruptset.generate.recipes.recipe import load_recipe
    >>> description = outline(load_recipe("imagenet-c"))
    >>> description.sets, description.size, description.samples, description.images
    (76, (224, 224), 50000, 3800000)
    """
    published = recipe.published
    size = recipe.preprocessing.output_size or (None if published is None else published.size)
    sets = len(recipe.resolve().sets)
    samples = None if published is None else published.images
    bytes_per_sample = None
    if size is not None:
        container = recipe.storage.container
        bytes_per_sample = sets * stored_bytes(recipe.encoding, size, container)
        if container == "hdf5" and recipe.encoding.lossless and published is not None and published.channels == "grey":
            bytes_per_sample //= 3  # shards contain the raw pixels of lossless images, here with one channel
    return Outline(
        name=recipe.name,
        version=recipe.version,
        aliases=recipe.aliases,
        title=recipe.title,
        description=recipe.description,
        sets=sets,
        calibration=recipe.calibration,
        size=size,
        source="" if published is None else published.source,
        samples=samples,
        images=None if samples is None else sets * samples,
        bytes_per_sample=bytes_per_sample,
        bytes=None if bytes_per_sample is None or samples is None else bytes_per_sample * samples,
    )
