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
    """The number of images built by this call, without those of earlier calls."""
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
    """The result of one job of an array, whose share of the parts is complete.

    When all shares are complete, call `build` with ``finish=True`` to finish the dataset.
    """

    directory: Path
    part: tuple[int, int]
    """The number of the job, i, and the number of jobs, n."""
    parts: int
    """The number of parts in the share of this job."""
    made: int
    """The number of parts built by this call, without those that existed."""
    images: int
    """The number of images built by this call."""
    seconds: float
    notes: tuple[str, ...] = ()
    """Notes for the user."""
