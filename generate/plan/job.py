"""What the workers of a build get: checked samples, which they load, and the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...canonical import canonical_sha256
from ...errors import SourceError
from ...manifests.records.models import Header
from ..pixels.encoding import Encoding
from ..pixels.preprocessing import Preprocessing, preprocess
from ..recipes.set_spec import RESOURCE_FIELDS, SetSpec
from ..sinks.containers import Sink
from ..sources.source import BadSample, Sample, Source
from .tree import SetMaker


class Origin(NamedTuple):
    """Which build a part belongs to."""

    build: str
    """The hash of the header, except its fields of resources."""
    resources: Mapping[str, str]
    """Field of the header (`RESOURCE_FIELDS`) -> its hash, which counts for parts whose pixels depend on it."""

    @classmethod
    def of(cls, header: Header) -> Origin:
        """Return the origin of the parts of a build."""
        record, fields = header.as_json(), RESOURCE_FIELDS.values()
        build = {key: value for key, value in record.items() if key not in fields}
        return cls(canonical_sha256(build), {field: canonical_sha256(record.get(field, [])) for field in fields})


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


@dataclass(frozen=True, kw_only=True)
class Job:
    """Sets of a build that workers make. Parts refer to it by ids."""

    header: Header
    """What the build is, with the resources of these sets."""
    origin: Origin
    """What sidecars say of the build that their parts belong to."""
    directory: Path
    source: Source
    samples: Sequence[CheckedSample]
    preprocessing: Preprocessing
    encoding: Encoding
    maker: SetMaker
    sets: Mapping[str, SetSpec]
    """In the order of the recipe."""
    sinks: tuple[Sink, ...]
    measured: frozenset[int]
    """The samples that metrics are measured on."""
    multiscale: frozenset[int]
    """Those of them that MS-SSIM is measured on."""
    token: str
    """Tells one call of `build` from another in the same process."""
    in_memory: bool = False
    """Whether parts are made without writing files, to estimate a build."""
    file: Path | None = None
    """The file that workers read the job from. It exists while they are to work. The next build removes the file of a
    build that was killed.
    """

    def clean(self, index: int) -> NDArray[np.uint8]:
        """Return the clean image of a sample, (H, W, C)."""
        return load_clean(self.source, self.samples[index], self.preprocessing)
