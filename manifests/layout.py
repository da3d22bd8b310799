"""Where everything of a data set lies."""

from __future__ import annotations

from pathlib import Path

from .records.models import Manifest, safe_path

MANIFEST = "manifest.json"
SAMPLES = "samples.jsonl"
SHA256SUMS = "SHA256SUMS"
WORK_FOLDER = ".corruptset"
BUILD = f"{WORK_FOLDER}/build.json"
PARTS_FOLDER = f"{WORK_FOLDER}/parts"
FINISH = f"{WORK_FOLDER}/finish.json"
"""Stands while the last files of a build take their places."""


def set_path(set_id: str) -> str:
    """Return where a set's rows are: ``sets/<set id>.jsonl``."""
    return f"sets/{set_id}.jsonl"


def is_begun(directory: Path) -> bool:
    """Return whether a build was begun in a directory; an empty `.corruptset/` makes none."""
    return (directory / BUILD).exists() or (directory / PARTS_FOLDER).is_dir()


def set_places(manifest: Manifest) -> dict[str, list[str]]:
    """Return set id -> where its images are: the folder of its single images, or the arrays (.npy) that hold rows of it.

    Where the build wrote its images as a view, the manifest's view says it; what it says wrongly is taken for the default place.
    """
    places = {s.id: [f"images/{s.id}"] for s in manifest.sets}
    if manifest.encoding["containers"] == ["view"] and manifest.views:
        said = manifest.views[0].get("sets")
        for set_id, paths in said.items() if isinstance(said, dict) else ():
            if set_id in places and _are_paths(paths):
                places[set_id] = paths
    return places


def _are_paths(paths: object) -> bool:
    try:
        return isinstance(paths, list) and bool(paths) and all(isinstance(p, str) and safe_path(p) for p in paths)
    except ValueError:
        return False
