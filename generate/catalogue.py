"""What there is to name: corruptions, recipes, sources and calibrations, each in short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..corruptions.add_ons import readable
from ..corruptions.calibrations import SHIPPED, Calibration, calibration_names, get_calibration
from ..corruptions.plugins import load_installed, load_plugins
from ..corruptions.registry import Corruption, corruption_names, get_corruption
from ..corruptions.rows import Row
from ..errors import ParameterError, suggest
from .recipes.recipe import Recipe, load_recipe
from .recipes.recipe_files import recipe_names
from .sinks.sink import stored_bytes
from .sources.source import schemes

Kind = Literal["corruptions", "recipes", "sources", "calibrations"]


@dataclass(frozen=True)
class Outline:
    """A recipe in short."""

    name: str
    version: str
    aliases: tuple[str, ...]
    title: str
    description: str
    sets: int
    calibration: str
    size: tuple[int, int] | None
    """(Width, height) of an image; None where it is the source's own."""
    source: str
    """What it was published for, or is made for, in words."""
    samples: int | None
    """Images of that source, where the number is known."""
    images: int | None
    """Sets times samples."""
    bytes_per_sample: int | None
    """Estimate, by the constants that `plan` has: of one sample's images in all sets."""
    bytes: int | None
    """Estimate: of all images, where their number is known."""

    def as_json(self) -> dict[str, Any]:
        """Return the outline as JSON values."""
        return asdict(self) | {"aliases": list(self.aliases), "size": None if self.size is None else list(self.size)}


def names(
    what: Kind = "corruptions",
    *,
    family: str | None = None,
    role: str | None = None,
    plugins: Sequence[str | Path] | None = None,
) -> list[str]:
    """Return the names of all corruptions, or of all recipes, sources or calibrations.

    Parameters
    ----------
    what : {"corruptions", "recipes", "sources", "calibrations"}
    family : str, optional
        Only corruptions of this family: noise, blur, weather, digital, shape, gradual, adversarial, plugin.
    role : {"test", "validation", "train"}, optional
        Only corruptions with this role; ``validation`` are the published extra four, by which methods are tuned.
    plugins : sequence of str or path, optional
        Modules with corruptions of your own, or their files; plugins that are installed are found by themselves.

    Returns
    -------
    list of str
        Corruptions by family; those of plugins come last.

    Raises
    ------
    ParameterError
        There are no names of that kind, no such family or no such role.

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
        raise ParameterError(f"There are no names of {what!r}.{suggest(what, known)} Known: {', '.join(known)}.")
    if family is None and role is None:
        return list(known[what])
    if what != "corruptions":
        raise ParameterError(f"Only corruptions have a family and a role; names of {what} are asked for.")
    declared = [get_corruption(name) for name in corruption_names()]
    for word, given, there in (
        ("family", family, {d.family for d in declared}),
        ("role", role, {d.role for d in declared}),
    ):
        if given is not None and given not in there:
            raise ParameterError(
                f"There is no {word} {given!r}.{suggest(given, there)} Known: {', '.join(sorted(there))}."
            )
    return [d.name for d in declared if family in (None, d.family) and role in (None, d.role)]


def recipes() -> list[Outline]:
    """Return every shipped recipe in short.

    What it makes, from what, and how large that is.
    """
    return [outline(recipe) for recipe in readable(load_recipe, recipe_names())]


def catalogue(what: Kind, *, plugins: Sequence[str | Path] | None = None) -> list[dict[str, Any]]:
    """Return what `corruptset list` says of each thing, as JSON values."""
    load_plugins(plugins or ())
    if what == "corruptions":
        load_installed()
        tables = [get_calibration(name).rows for name in SHIPPED]
        return [_corruption(get_corruption(name), tables) for name in corruption_names()]
    if what == "sources":
        return [{"source": name, "about": scheme.help} for name, scheme in schemes().items()]
    if what == "calibrations":
        return [_calibration(table) for table in readable(get_calibration, calibration_names())]
    return [one.as_json() for one in recipes()]


def _corruption(corruption: Corruption, tables: Sequence[Mapping[str, Mapping[int, Row]]]) -> dict[str, Any]:
    """Return a corruption in short."""
    return {
        **{field: getattr(corruption, field) for field in ("name", "family", "role", "revision")},
        # those of the shipped calibrations
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
    """Return a calibration in short: its short side, and who published its rows."""
    cited = {row.source.split(",")[0] for by_severity in table.rows.values() for row in by_severity.values()}
    return {"name": table.name, "side": table.side, "corruptions": len(table.rows), "sources": sorted(cited)}


def outline(recipe: Recipe) -> Outline:
    """Return a recipe in short.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    Outline
        Bytes are of HDF5 shards below 64 pixels and of image files else, as `plan` chooses for large builds.

    Examples
    --------
    >>> from corruptset.generate.recipes.recipe import load_recipe
    >>> short = outline(load_recipe("imagenet-c"))
    >>> short.sets, short.size, short.samples, short.images
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
            bytes_per_sample //= 3  # shards of lossless images are raw pixels
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
