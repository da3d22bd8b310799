"""What a build's workers get: the checked samples, which they load, and the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...canonical import canonical_sha256
from ...errors import SourceError
from ..pixels.preprocessing import Preprocessing, preprocess
from ..recipes.set_spec import RESOURCE_FIELDS, SetSpec
from ..sinks.containers import Sink
from ..sources.source import BadSample, Sample, Source

if TYPE_CHECKING:
    from .builds import Build


class Origin(NamedTuple):
    """Which build a part belongs to."""

    build: str
    """Hash of what the build is, whatever its sets."""
    resources: Mapping[str, str]
    """Field of the manifest (`RESOURCE_FIELDS`) -> hash of what it says: it counts for parts whose pixels depend on it.
    """

    @classmethod
    def of(cls, identity: Mapping[str, Any], resources: Mapping[str, Sequence[Mapping[str, Any]]]) -> Origin:
        """Return the origin of parts, of a build's identity and its records of resources."""
        build = {key: value for key, value in identity.items() if key not in RESOURCE_FIELDS.values()}
        return cls(
            canonical_sha256(build), {field: canonical_sha256(list(records)) for field, records in resources.items()}
        )


NOWHERE = Origin("", {})
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


def load_clean(source: Source, chosen: CheckedSample, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """Return a sample as the benchmark's clean image.

    Raises
    ------
    SourceError
        It cannot be read any more, or its bytes are not those that were checked.
    """
    name = chosen.sample.path or chosen.sample.id
    try:
        loaded = source.load(chosen.sample)
    except BadSample as e:
        raise SourceError(
            f"{name} was readable when the source was checked, and is no longer: {e}. Mend it and try again."
        ) from e
    if loaded.sha256 != chosen.sha256:
        raise SourceError(
            f"{name} has changed since the source was checked ({chosen.sha256} then, {loaded.sha256} now). "
            "Put the original back and try again; what it is now is for a new build, in another --out."
        )
    return preprocess(loaded.image, preprocessing)


@dataclass(frozen=True)
class Job:
    """Sets of a build that workers make; parts refer to it by ids."""

    build: Build
    directory: Path
    sets: Mapping[str, SetSpec]
    """In the order of the recipe."""
    sinks: tuple[Sink, ...]
    measured: frozenset[int]
    """The samples that metrics are over."""
    multiscale: frozenset[int]
    """Those of them that MS-SSIM is over."""
    token: str
    """Tells one call of `build` from another in the same process."""
    origin: Origin = NOWHERE
    """What sidecars say that their parts belong to."""
    in_memory: bool = False
    """Whether parts are made without writing files, to estimate a build."""
    file: Path | None = None
    """Where workers read this from. It stands for as long as they are to work; the next build removes that of one that
    was killed.
    """
