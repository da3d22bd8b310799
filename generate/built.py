"""What `build` returns."""

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
    """Images made by this call; what was committed before is not counted."""
    seconds: float
    manifest: Manifest
    notes: tuple[str, ...] = ()
    """Notes for the user."""

    def __repr__(self) -> str:
        sets = f"{len(self.manifest.sets)} sets, {self.images:,} images made by this call in {self.seconds:.1f} s"
        return (
            f"<Built {self.manifest.name} {self.manifest.version} in {self.directory}: {sets}, {len(self.notes)} "
            f"notes, {self.digest}>"
        )

    def _repr_html_(self) -> str:
        from ..manifests.reading.notebook import contact_sheet, figure

        return figure(repr(self), lambda: contact_sheet(self.directory), "; ".join(self.notes))


@dataclass(frozen=True)
class PartBuilt:
    """What one job of an array has made: its share of the parts, committed.

    The build is finished with ``finish=True``.
    """

    directory: Path
    part: tuple[int, int]
    """Job i of n."""
    parts: int
    """Of its share; all of them are there."""
    made: int
    """Parts that this call made; others were there."""
    images: int
    """Images made by this call."""
    seconds: float
    notes: tuple[str, ...] = ()
    """Notes for the user."""
