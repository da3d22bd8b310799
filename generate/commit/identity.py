"""The identity of a build: the fields of the manifest that must be equal when a build is resumed or extended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import BuildError, VerificationError, listed
from ...manifests.disk.hashed import read_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.paths import SAMPLES, SOURCE
from ...manifests.records.models import Manifest, SampleRecord
from ..plan.builds import Build
from ..recipes.set_spec import RESOURCE_FIELDS

IDENTITY = (
    "schema_version",
    "name",
    "version",
    "seed",
    "coupling",
    "scale",
    "recipe",
    "source",
    "preprocessing",
    "encoding",
    "textures",
    "surrogates",
    "plugins",
    "classes",
    "excluded",
    "selection",
)
"""The fields of the manifest that must be equal in two commands for the same dataset."""


def refuse_other_build(directory: Path, recorded: Mapping[str, Any], build: Build, sets: Sequence[str]) -> None:
    """Raise `BuildError` with the difference if a directory holds another build than `build`.

    Textures, models and plugins of `sets` are compared if both builds have some.
    """
    resources = set(RESOURCE_FIELDS.values())
    here, asked = (
        {key: value for key, value in identity.items() if key not in resources}
        for identity in (recorded, json.loads(json.dumps(dict(build.identity))))
    )
    problems = list(differences(here, asked))
    if any(p.startswith("source.digest:") for p in problems):
        problems += _changed_samples(directory, build)
    for field, records in () if problems else build.resources(sets).items():
        if (present := recorded.get(field)) and records:
            problems += differences({field: present}, {field: records})
    if problems:
        raise BuildError(
            f"{directory} holds another build than the one asked for. What differs:\n"
            f"{listed(problems, 20)}\n"
            "Choose another --out, or delete that directory."
        )


def _changed_samples(directory: Path, build: Build) -> list[str]:
    """Return one line for each sample that has changed since the build was begun, if the samples were recorded."""
    now: dict[str, object] = {id: f"label {label}, {sha256}" for id, label, sha256 in build.made_of}
    try:
        if (recorded := read_hashed(directory / SOURCE)) is not None:
            rows = json.loads(recorded)
        else:
            rows = [(s.id, s.label, s.sha256) for s in read_jsonl(directory / SAMPLES, SampleRecord)]
    except (ValueError, VerificationError):
        return []
    before = {id: f"label {label}, {sha256}" for id, label, sha256 in rows}
    return [
        f"source: {id}: {before.get(id, 'not a sample')} before, {now.get(id, 'not a sample')} now"
        for id in sorted(before.keys() | now.keys())
        if before.get(id) != now.get(id)
    ]


def identity_of(manifest: Manifest) -> dict[str, Any]:
    """Return what the build of a manifest is."""
    record = manifest.as_json()
    images = {s.metrics.images if s.metrics is not None else 0 for s in manifest.sets}
    return {key: record.get(key, []) for key in IDENTITY} | {"metrics": max(images, default=0)}


def differences(present: Any, asked: Any, where: str = "") -> Iterator[str]:
    """Yield what differs, one line a field.

    Examples
    --------
    >>> list(differences({"seed": 0, "source": {"name": "sample"}}, {"seed": 1, "source": {"name": "folder"}}))
    ['seed: here 0, asked for 1', "source.name: here 'sample', asked for 'folder'"]
    """
    if isinstance(present, Mapping) and isinstance(asked, Mapping):
        for key in [*present, *(k for k in asked if k not in present)]:
            yield from differences(present.get(key), asked.get(key), f"{where}.{key}" if where else str(key))
    elif isinstance(present, list) and isinstance(asked, list) and len(present) == len(asked):
        for i, (one, other) in enumerate(zip(present, asked, strict=True)):
            name = one.get("id", i) if isinstance(one, Mapping) else i
            yield from differences(one, other, f"{where}[{name}]")
    elif present != asked:
        yield f"{where}: here {present!r:.100}, asked for {asked!r:.100}"
