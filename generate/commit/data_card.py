"""The texts of a build's data card (README.md) and of its LICENSE file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from ...manifests.paths import is_reserved_path, moved_content, set_of_shard
from ...manifests.records.markdown import render_card
from ...manifests.records.models import Manifest, SourceRecord
from ..exports.class_folders import numbering_notes
from ..sources.selection import recorded_hold_out


def data_card(manifest: Manifest, labels: Sequence[int | None]) -> str:
    """Return the text of the README.md of a build.

    It states the digest and the terms of the dataset, and explains how to verify and load it.

    Parameters
    ----------
    manifest : Manifest
    labels : sequence of int or None
        The label of each sample, or None for samples without labels.
    """
    occurring = set(labels)
    example = next((s.id for s in manifest.sets if s.id != "clean"), "clean")
    return render_card(
        files(__package__).joinpath("data_card.md").read_text("utf-8"),
        m=manifest,
        samples=len(labels),
        example=example,
        held_out=recorded_hold_out(manifest.selection.get("hold_out")),
        numbering=numbering_notes((f"{c.folder}/", c.index) for c in manifest.classes if c.index in occurring),
        shards=sum(set_of_shard(file.path) == example for file in manifest.files),
        has_other_files=any(not is_reserved_path(file.path) for file in manifest.files),
        moved=moved_content(manifest),
    )


def license_text(source: SourceRecord) -> str:
    """Return the text of the LICENSE file of a build, with one line for each licence of the source."""
    terms = "\n".join(part.strip() for part in (source.license or "").split("; "))
    return f"The images derive from those of the source '{source.name}', under these terms:\n\n{terms}\n"
