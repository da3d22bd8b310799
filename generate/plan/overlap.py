"""Samples that two builds have in common: what is trained on must not be what is tested on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ...errors import BuildError, listed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.manifest_file import load_manifest
from ...manifests.records.models import SampleRecord
from .job import CheckedSample


def refuse_overlap(chosen: Iterable[CheckedSample], others: Sequence[str | Path]) -> None:
    """Raise if a sample's bytes are also a sample of a finished build.

    Parameters
    ----------
    chosen : iterable of CheckedSample
    others : sequence of path
        Directories of finished builds.

    Raises
    ------
    BuildError
        With the number of samples in common, and the first few by both names.
    VerificationError
        A directory holds no finished build.
    """
    mine = {c.sha256: c.sample.id for c in chosen}
    for other in others:
        directory = Path(other)
        name = load_manifest(directory).name
        theirs = read_jsonl(directory / "samples.jsonl", SampleRecord)
        common: dict[str, tuple[str, str]] = {}
        for s in theirs:
            if s.sha256 in mine:  # once of an image that it has several regions of
                common.setdefault(s.sha256, (mine[s.sha256], s.id if s.region is None else s.region.source))
        if common:
            lines = [f"{a} is its sample {b}" if a != b else a for a, b in common.values()]
            raise BuildError(
                f"{len(common)} of the {len(mine)} samples are also samples of {name} in {directory}, which this build must not "
                f"overlap:\n{listed(lines, 10)}\nNothing was written. Choose another --split, or pick samples with --ids."
            )
