"""The tables of a recipe file as pydantic models: ``[stages]``, ``[[sets]]``, ``[[pairs]]``, ``[storage]``, ..."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from ...corruptions.registry import corruption_names, is_corruption
from ...corruptions.rows import severity_number
from ...errors import quoted, suggest
from ...manifests.records.fields import SetId, Storage
from ..pixels.preprocessing import Side
from .set_spec import Role


class RecipeTable(BaseModel):
    """Base of what stands in a recipe: strict about keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _known_corruption(name: str) -> str:
    if not is_corruption(name):
        raise ValueError(
            f"there is no corruption {quoted(name)}.{suggest(name, corruption_names())} `corruptset list` names all."
        )
    return name


CorruptionName = Annotated[str, AfterValidator(_known_corruption)]


def _severity(value: Any) -> int | float:
    number = severity_number(value)
    if number is None or not 0 <= number <= 5:
        raise ValueError(
            f"is {quoted(value)}; expected a severity from 1 to 5, or a fraction with at most two decimals, such as "
            "2.25; 0 is the clean images"
        )
    return number


Severity = Annotated[int | float, BeforeValidator(_severity)]
Level = Annotated[int, Field(strict=True, ge=0, le=99)]
"""0 is the clean images."""


def _levels_upwards(value: Any) -> Any:
    """Read ``levels = 30`` as the levels 1 to 30."""
    if type(value) is not int:
        return value
    if not 1 <= value <= 99:
        raise ValueError(f"is {quoted(value)}; expected a number of levels from 1 to 99, or a list of levels")
    return tuple(range(1, value + 1))


Severities = Annotated[tuple[Severity, ...], Field(min_length=1)]
Levels = Annotated[tuple[Level, ...], BeforeValidator(_levels_upwards), Field(min_length=1)]
StageName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$", max_length=64)]


class StageEntry(RecipeTable):
    """A stage, written as a table."""

    corruption: CorruptionName
    severity: Severity | None = None
    level: Level | None = None
    parameters: dict[str, Any] = {}


ChainItem = Annotated[
    Annotated[str, Tag("text")] | Annotated[StageEntry, Tag("table")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "table"),
]


class SetEntry(RecipeTable):
    """A ``[[sets]]`` entry: corruptions x severities or levels, a chain, or the clean images."""

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
            raise ValueError("severities and levels go with corruptions; a chain has them in its stages ('fog-3')")
        if self.levels is not None and "severities" in self.model_fields_set:
            raise ValueError("has severities and levels; a corruption has one or the other")
        if self.chain is None and self.id is not None:
            raise ValueError("id goes with chain; other sets have ids of their own")
        if self.corruptions is not None and self.aliases:
            raise ValueError("aliases go with chain or clean: one name cannot stand for many sets")
        return self


class PairEntry(RecipeTable):
    """A ``[[pairs]]`` entry: every stage of one list before every stage of another."""

    first: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """Corruptions, links such as ``fog-3``, and names of ``[stages]``."""
    second: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    orders: Literal["both", "given"] = "both"
    severities: Severities = (1, 2, 3, 4, 5)
    """Of corruptions, on both sides."""
    first_severities: Severities | None = None
    second_severities: Severities | None = None
    levels: Levels | None = None
    """Of gradual degradations, on both sides."""
    first_levels: Levels | None = None
    second_levels: Levels | None = None
    same: bool = True
    """Whether a corruption is paired with itself (two independent draws)."""
    role: Role | None = None


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
