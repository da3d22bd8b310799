"""Sets of a build, and which are one: those with the same pixels by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ...canonical import canonical
from ...corruptions.registry import PLUGIN, get_corruption
from ...corruptions.stages import Coupling, Stage, chain_keys

Role = Literal["test", "validation", "train"]

RESOURCE_FIELDS = {"textures": "textures", "surrogate": "surrogates", PLUGIN: "plugins"}
"""Resource of a corruption, or the family of plugins -> the manifest's field with the records of what was used."""


@dataclass(frozen=True)
class SetSpec:
    """A set of a build: its id, chain of stages, role and other names."""

    id: str
    stages: tuple[Stage, ...]
    role: Role = "test"
    aliases: tuple[str, ...] = ()
    entries: int = 1
    """How many sets of the recipe this one is: those that are the same chain are made once."""

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the aliases."""
        return (self.id, *self.aliases)

    @property
    def resource_fields(self) -> set[str]:
        """The manifest's fields that name what goes into its pixels beside source and parameters
        (`RESOURCE_FIELDS`).
        """
        declared = [get_corruption(stage.corruption) for stage in self.stages]
        used = {name for one in declared for name in (one.family, *one.resources)}
        return {field for name, field in RESOURCE_FIELDS.items() if name in used}

    @property
    def needs_surrogate(self) -> bool:
        """Whether a model goes into its pixels: then they depend on the machine."""
        return RESOURCE_FIELDS["surrogate"] in self.resource_fields

    def as_json(self) -> dict[str, Any]:
        """Return the set as it stands in a manifest's recipe."""
        return {
            "id": self.id,
            "aliases": list(self.aliases),
            "role": self.role,
            "stages": [stage.as_json() for stage in self.stages],
        }


def step_identity(stage: Stage, key: np.uint64) -> bytes:
    """Return bytes that two steps share exactly if their pixels are the same by definition."""
    return canonical([f"{key:016x}", stage.corruption, stage.revision, dict(stage.parameters), stage.level])


def merge_chains(sets: Iterable[SetSpec], seed: int, coupling: Coupling) -> list[SetSpec]:
    """Return the sets with those of one chain merged; the first keeps its id.

    Under ``coupling="severity"`` a severity and its row given explicitly draw differently, so they stay two sets.
    """

    def identity(spec: SetSpec) -> bytes:
        return b"".join(map(step_identity, spec.stages, chain_keys(spec.stages, seed, coupling)))

    return merge_sets(sets, identity)


def merge_sets(sets: Iterable[SetSpec], identity: Callable[[SetSpec], bytes]) -> list[SetSpec]:
    """Return the sets with those of one identity merged, in order."""
    merged: dict[bytes, SetSpec] = {}
    for spec in sets:
        key = identity(spec)
        first = merged.get(key)
        if first is None:
            merged[key] = spec
        else:
            aliases = dict.fromkeys([*first.aliases, spec.id, *spec.aliases])
            aliases.pop(first.id, None)
            merged[key] = replace(first, aliases=tuple(aliases), entries=first.entries + spec.entries)
    return list(merged.values())
