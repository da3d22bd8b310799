"""The specification of a set, and the merging of sets that have the same pixels by definition."""

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
"""A mapping from each kind of resource to the manifest field that records it. For plugins, the key is their family."""


@dataclass(frozen=True)
class SetSpec:
    """A set of a build: its id, chain of stages, role and aliases."""

    id: str
    stages: tuple[Stage, ...]
    role: Role = "test"
    aliases: tuple[str, ...] = ()
    entries: int = 1
    """The number of sets in the recipe that were merged into this set because their chains are equal."""

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the aliases."""
        return (self.id, *self.aliases)

    @property
    def resource_fields(self) -> set[str]:
        """The manifest fields that record the resources of the set's corruptions (`RESOURCE_FIELDS`)."""
        declared = [get_corruption(stage.corruption) for stage in self.stages]
        used = {name for corruption in declared for name in (corruption.family, *corruption.resources)}
        return {field for name, field in RESOURCE_FIELDS.items() if name in used}

    @property
    def needs_surrogate(self) -> bool:
        """True if the pixels depend on a model, and therefore on the machine."""
        return RESOURCE_FIELDS["surrogate"] in self.resource_fields

    def as_json(self) -> dict[str, Any]:
        """Return the record of the set in the recipe of a manifest."""
        return {
            "id": self.id,
            "aliases": list(self.aliases),
            "role": self.role,
            "stages": [stage.as_json() for stage in self.stages],
        }


def step_identity(stage: Stage, key: np.uint64) -> bytes:
    """Return bytes that identify a step. They are equal for two steps if and only if the pixels must be equal."""
    return canonical([f"{key:016x}", stage.corruption, stage.revision, dict(stage.parameters), stage.level])


def merge_chains(sets: Iterable[SetSpec], seed: int, coupling: Coupling) -> list[SetSpec]:
    """Merge sets that have the same chain. The first set keeps its id, and the ids of the others become its aliases.

    With ``coupling="severity"``, a stage at a severity and a stage with the same explicit parameters draw different
    random numbers, so their sets are not merged.
    """

    def identity(spec: SetSpec) -> bytes:
        return b"".join(map(step_identity, spec.stages, chain_keys(spec.stages, seed, coupling)))

    return merge_sets(sets, identity)


def merge_sets(sets: Iterable[SetSpec], identity: Callable[[SetSpec], bytes]) -> list[SetSpec]:
    """Merge sets that have the same identity, and keep the order of the sets."""
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
