"""What a build is: the fields of a manifest that two builds of one directory must share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import BuildError, VerificationError, listed
from ...manifests.disk.hashed import read_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.layout import SAMPLES, SOURCE
from ...manifests.records.models import Manifest, SampleRecord
from ..plan.builds import Build, Resources
from ..recipes.set_spec import RESOURCE_FIELDS

# What a build is: a manifest's fields that must be equal for two commands to mean the same build.
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
    "views",
)


def difference(present: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Return what differs, one line a field.

    Examples
    --------
    >>> difference({"seed": 0, "source": {"name": "sample"}}, {"seed": 1, "source": {"name": "folder"}})
    ['seed: here 0, asked for 1', "source.name: here 'sample', asked for 'folder'"]
    """
    return list(_differences("", present, asked))


def refuse_other_build(directory: Path, recorded: Mapping[str, Any], build: Build) -> None:
    """Raise `BuildError` with the difference if a directory holds another build than the one asked for, whatever their
    resources.
    """
    problems = difference(_without_resources(recorded), json.loads(json.dumps(_without_resources(build.identity))))
    if any(p.startswith("source.digest:") for p in problems):
        problems += _changed_samples(directory, build.made_of)
    _refuse(directory, problems)


def refuse_other_resources(directory: Path, recorded: Mapping[str, Any], resources: Resources) -> None:
    """Raise `BuildError` if both builds have textures, or a surrogate, and not the same."""
    for field, records in resources.items():
        if (present := recorded.get(field)) and records:
            _refuse(directory, difference({field: present}, {field: records}))


def _without_resources(identity: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in identity.items() if key not in RESOURCE_FIELDS.values()}


def _refuse(directory: Path, problems: Sequence[str]) -> None:
    if problems:
        raise BuildError(
            f"{directory} holds another build than the one asked for; only sets can be added to it. What "
            f"differs:\n{listed(problems, 20)}\n"
            "Choose another --out, or delete that directory."
        )


def _changed_samples(directory: Path, samples: Sequence[tuple[str, int | None, str]]) -> list[str]:
    """Return how the source changed since the build was started, one line a sample; nothing where the samples were not
    recorded.
    """
    before: dict[str, tuple[int | None, str]]
    try:
        if (recorded := read_hashed(directory / SOURCE)) is not None:
            before = {id: (label, sha256) for id, label, sha256 in json.loads(recorded)}
        else:
            before = {s.id: (s.label, s.sha256) for s in read_jsonl(directory / SAMPLES, SampleRecord)}
    except (ValueError, VerificationError):
        return []
    now = {id: (label, sha256) for id, label, sha256 in samples}
    lines = []
    for id in sorted(before.keys() | now.keys()):
        if id not in now:
            lines.append(f"source: {id} was in it and is not any more")
        elif id not in before:
            lines.append(f"source: {id} was not in it before")
        elif before[id][1] != now[id][1]:
            lines.append(f"source: {id} holds other bytes ({before[id][1]} before, {now[id][1]} now)")
        elif before[id] != now[id]:
            lines.append(f"source: {id} had the label {before[id][0]} and has {now[id][0]}")
    return lines


def identity_of(manifest: Manifest) -> dict[str, Any]:
    """Return what the build of a manifest is."""
    record = manifest.as_json()
    images = {s.metrics.images if s.metrics is not None else 0 for s in manifest.sets}
    views = [{key: value for key, value in view.items() if key != "sets"} for view in record["views"]]
    return {key: record.get(key, []) for key in IDENTITY} | {"views": views, "metrics": max(images, default=0)}


def _differences(where: str, present: Any, asked: Any) -> Iterator[str]:
    if isinstance(present, Mapping) and isinstance(asked, Mapping):
        for key in [*present, *(k for k in asked if k not in present)]:
            yield from _differences(f"{where}.{key}" if where else str(key), present.get(key), asked.get(key))
    elif isinstance(present, list) and isinstance(asked, list) and len(present) == len(asked):
        for i, (one, other) in enumerate(zip(present, asked, strict=True)):
            name = one.get("id", i) if isinstance(one, Mapping) else i
            yield from _differences(f"{where}[{name}]", one, other)
    elif present != asked:
        yield f"{where}: here {_short(present)}, asked for {_short(asked)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
