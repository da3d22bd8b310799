"""The results of `build`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..manifests.records.models import Manifest


@dataclass(frozen=True)
class Built:
    """A finished build."""

    directory: Path
    digest: str
    contact_sheet: Path
    images: int
    """The number of images built by this call, excluding images from earlier calls."""
    seconds: float
    manifest: Manifest
    notes: tuple[str, ...] = ()
    """Notes for the user."""

    def __repr__(self) -> str:
        sets = f"{len(self.manifest.sets)} sets, {self.images:,} images built by this call in {self.seconds:.1f} s"
        return (
            f"<Built {self.manifest.name} {self.manifest.version} in {self.directory}: {sets}, {len(self.notes)} "
            f"notes, {self.digest}>"
        )

    def _repr_html_(self) -> str:
        from ..manifests.reading.notebook import contact_sheet, figure

        return figure(repr(self), lambda: contact_sheet(self.directory), "; ".join(self.notes))


@dataclass(frozen=True)
class PartBuilt:
    """The result of an array job that has completed its share of the parts.

    When all shares are complete, finish the dataset by calling `build` with ``finish=True``.
    """

    directory: Path
    part: tuple[int, int]
    """The index of the job, from 0, and the number of jobs."""
    parts: int
    """The number of parts in the share of this job."""
    made: int
    """The number of parts built by this call, excluding parts that already existed."""
    images: int
    """The number of images built by this call."""
    seconds: float
    notes: tuple[str, ...] = ()
    """Notes for the user."""
