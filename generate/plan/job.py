"""What a build's workers are told: the checked samples, and the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...canonical import canonical_sha256
from ...corruptions.stages import Coupling, Scale
from ...manifests.records.models import ClassRecord
from ..pixels.encoding import Encoding
from ..pixels.preprocessing import Preprocessing
from ..recipes.set_spec import SetSpec
from ..sources.source import Sample, Source
from ..views.layout import Layout


@dataclass(frozen=True)
class Origin:
    """Which build a part belongs to."""

    build: str
    """Hash of what the build is, whatever its sets."""
    textures: str
    """Hash of the textures that go into pixels: it counts for parts that have any."""

    @classmethod
    def of(cls, identity: Mapping[str, Any], textures: Sequence[Mapping[str, str]]) -> Origin:
        """Return the origin of a build's parts.

        Parameters
        ----------
        identity : mapping
            What the build is; its ``textures``, which depend on the sets, are left aside.
        textures : sequence of {name, sha256}
            Empty where no set has any.
        """
        return cls(canonical_sha256({k: v for k, v in identity.items() if k != "textures"}), canonical_sha256(list(textures)))


NOWHERE = Origin("", "")
"""Of parts that are made aside, and are no build's."""


@dataclass(frozen=True)
class CheckedSample:
    """A sample that a build is made of, as the check saw it."""

    sample: Sample
    sha256: str
    width: int
    height: int
    channels: int = 0
    """1 (grey) or 3; 0 where it was not looked at again."""


@dataclass(frozen=True)
class Job:
    """Everything that workers need to know; parts refer to it by ids."""

    directory: Path
    build: str
    """``<name> <version>``, written into shards."""
    source: Source
    samples: tuple[CheckedSample, ...]
    classes: tuple[ClassRecord, ...]
    sets: Mapping[str, SetSpec]
    """In the order of the recipe."""
    preprocessing: Preprocessing
    encoding: Encoding
    containers: tuple[str, ...]
    seed: int
    coupling: Coupling
    scale: Scale
    side: int
    measured: frozenset[int]
    resources: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = NOWHERE
    """What sidecars say that their parts belong to."""
    token: str = ""
    """Tells one call of `build` from another in the same process."""
    layout: Layout | None = None
    """Where images go in place of a container, for ``build --view``."""
    parent: int | None = None
    """The process that the workers belong to; None in process. A worker that outlives it stops."""
