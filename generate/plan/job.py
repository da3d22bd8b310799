"""The job that the workers of a build receive, and the checked samples that they load."""

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
    """The identity of the build that a part belongs to."""

    build: str
    """The hash of the header without the fields that record resources."""
    resources: Mapping[str, str]
    """The hashes of the header's resource fields (`RESOURCE_FIELDS`), by field. A hash is compared only for parts that
    depend on its field.
    """

    @classmethod
    def of(cls, header: Header) -> Origin:
        """Return the origin of the parts of a build."""
        record, fields = header.as_json(), RESOURCE_FIELDS.values()
        build = {key: value for key, value in record.items() if key not in fields}
        return cls(canonical_sha256(build), {field: canonical_sha256(record.get(field, [])) for field in fields})


@dataclass(frozen=True)
class CheckedSample:
    """A sample of a build, with the properties that the check of the source recorded."""

    sample: Sample
    sha256: str
    width: int
    height: int
    channels: int = 0
    """1 (grey) or 3 (RGB), or 0 if it is not known because the sample was read from a manifest."""


def load_clean(source: Source, chosen: CheckedSample, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """Load a sample, and return its clean image, which is the preprocessed source image.

    Raises
    ------
    SourceError
        The sample cannot be read any more, or its bytes have changed since the check.
    """
    name = chosen.sample.path or chosen.sample.id
    try:
        loaded = source.load(chosen.sample)
    except BadSample as e:
        raise SourceError(
            f"{name} was readable when the source was checked, but it can no longer be read: {e}. Restore it, and "
            "run the same command again."
        ) from e
    if loaded.sha256 != chosen.sha256:
        raise SourceError(
            f"{name} has changed since the source was checked ({chosen.sha256} then, {loaded.sha256} now). "
            "Restore the original and run the same command again, or start a new build with another --out."
        )
    return preprocess(loaded.image, preprocessing)


@dataclass(frozen=True, kw_only=True)
class Job:
    """The sets that the workers of a build make, and everything that the workers need to make these sets."""

    header: Header
    """The header of the build, with the resources of these sets."""
    origin: Origin
    """The identity of the build, which sidecars record."""
    directory: Path
    source: Source
    samples: Sequence[CheckedSample]
    preprocessing: Preprocessing
    encoding: Encoding
    maker: SetMaker
    sets: Mapping[str, SetSpec]
    """The sets by id, in the order of the recipe."""
    sinks: tuple[Sink, ...]
    measured: frozenset[int]
    """Indices of the samples that metrics are measured on."""
    multiscale: frozenset[int]
    """Indices of the samples that MS-SSIM is measured on, a subset of `measured`."""
    token: str
    """A random string that distinguishes the calls to `build` in one process."""
    in_memory: bool = False
    """True if parts are made without writing files, to estimate a build."""
    file: Path | None = None
    """The file from which workers read the job. The file is deleted when workers should stop. If a build is killed, the
    next build deletes the file.
    """

    def clean(self, index: int) -> NDArray[np.uint8]:
        """Return the clean image of a sample, (H, W, C)."""
        return load_clean(self.source, self.samples[index], self.preprocessing)
