"""Pydantic models of the tables of a recipe file: ``[stages]``, ``[[sets]]``, ``[[pairs]]``, ``[storage]``, ..."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from ...corruptions.registry import corruption_names, is_corruption
from ...corruptions.rows import severity_number
from ...errors import quote, suggest
from ...manifests.records.fields import SetId, Storage
from ..pixels.preprocessing import Side
from .set_spec import Role


class RecipeTable(BaseModel):
    """Base class of the tables of a recipe. Unknown keys are errors, and instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _known_corruption(name: str) -> str:
    if not is_corruption(name):
        raise ValueError(
            f"there is no corruption {quote(name)}.{suggest(name, corruption_names())} See `corruptset list`."
        )
    return name


CorruptionName = Annotated[str, AfterValidator(_known_corruption)]


def _severity(value: Any) -> int | float:
    number = severity_number(value)
    if number is None or not 0 <= number <= 5:
        raise ValueError(
            f"is {quote(value)}; expected a severity from 1 to 5, or a fraction with at most two decimals, such as "
            "2.25, or 0 for the clean images"
        )
    return number


Severity = Annotated[int | float, BeforeValidator(_severity)]
Level = Annotated[int, Field(strict=True, ge=0, le=99)]
"""A level of a gradual degradation, or 0 for the clean images."""


def _levels_upwards(value: Any) -> Any:
    """Read ``levels = 30`` as the levels 1 to 30."""
    if type(value) is not int:
        return value
    if not 1 <= value <= 99:
        raise ValueError(f"is {quote(value)}; expected a number of levels from 1 to 99, or a list of levels")
    return tuple(range(1, value + 1))


Severities = Annotated[tuple[Severity, ...], Field(min_length=1)]
Levels = Annotated[tuple[Level, ...], BeforeValidator(_levels_upwards), Field(min_length=1)]
StageName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$", max_length=64)]


class StageEntry(RecipeTable):
    """A stage that is written as a table, with a severity, a level or explicit parameters."""

    corruption: CorruptionName
    severity: Severity | None = None
    level: Level | None = None
    parameters: dict[str, Any] = {}


ChainItem = Annotated[
    Annotated[str, Tag("text")] | Annotated[StageEntry, Tag("table")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "table"),
]


class SetEntry(RecipeTable):
    """An entry of ``[[sets]]``: corruptions at severities or levels, a chain, or the clean images."""

    corruptions: Annotated[tuple[CorruptionName, ...], Field(min_length=1)] | None = None
    severities: Severities = (1, 2, 3, 4, 5)
    levels: Levels | None = None
    chain: Annotated[tuple[ChainItem, ...], Field(min_length=1)] | None = None
    clean: Literal[True] | None = None
    id: SetId | None = None
    aliases: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    role: Role | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> SetEntry:
        kinds = [k for k in ("corruptions", "chain", "clean") if getattr(self, k) is not None]
        if len(kinds) != 1:
            raise ValueError(
                f"has {' and '.join(kinds) or 'none of them'}; expected exactly one of corruptions, chain, clean"
            )
        if self.corruptions is None and {"severities", "levels"} & self.model_fields_set:
            raise ValueError(
                "severities and levels need corruptions; in a chain, each stage states its severity or level ('fog-3')"
            )
        if self.levels is not None and "severities" in self.model_fields_set:
            raise ValueError("has severities and levels; give only one of them")
        if self.chain is None and self.id is not None:
            raise ValueError("id needs a chain, because the ids of other sets are fixed; leave it out")
        if self.corruptions is not None and self.aliases:
            raise ValueError("aliases need a chain or clean, because an alias names a single set; leave them out")
        return self


class PairEntry(RecipeTable):
    """An entry of ``[[pairs]]``: chains that combine each stage in one list with each stage in another list."""

    first: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """Corruptions, stages such as ``fog-3``, and stage names that ``[stages]`` defines."""
    second: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    orders: Literal["both", "given"] = "both"
    severities: Severities = (1, 2, 3, 4, 5)
    """The severities of corruptions in both lists."""
    first_severities: Severities | None = None
    second_severities: Severities | None = None
    levels: Levels | None = None
    """The levels of gradual degradations in both lists."""
    first_levels: Levels | None = None
    second_levels: Levels | None = None
    same: bool = True
    """True if a corruption is also paired with itself, with two independent random draws."""
    role: Role | None = None


class Published(RecipeTable):
    """``[published]``: the source images from which the published sets were made."""

    source: Annotated[str, Field(min_length=1)]
    images: Annotated[int, Field(strict=True, ge=1)] | None = None
    """The number of images, or None if the publication does not state it."""
    size: tuple[Side, Side] | None = None
    """(width, height) of the images, or None if their sizes differ."""
    channels: Literal["rgb", "grey"] = "rgb"


class SurrogateEntry(RecipeTable):
    """``[surrogate]``: the model whose gradients are used to make the sets of a recipe."""

    file: Annotated[str, Field(min_length=1)]
    """The path of the model file, relative to the recipe file."""
    device: str = "cpu"
    batch: Annotated[int, Field(strict=True, ge=1)] = 1


class StorageEntry(RecipeTable):
    """``[storage]``: how the images of a dataset are stored."""

    container: Storage = "folder"
    """``folder`` stores image files, ``hdf5`` stores HDF5 shards that each contain images from one set, and ``both``
    stores every image in both forms.
    """


class HoldOutTable(RecipeTable):
    """``[hold_out]``: the groups that are held out for testing. All other groups are for training (``--train``)."""

    groups: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """Names of groups, or shell patterns. Patterns without a match are allowed if at least one pattern matches."""
    grouping: Annotated[str, Field(min_length=1)] | None = None
    """The kind of groups, for a source that has several kinds. For icons50, it is ``style`` or ``subtype``."""
