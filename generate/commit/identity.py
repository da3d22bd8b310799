"""Compare the headers of builds, to determine whether two commands describe the same build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import BuildError, VerificationError, first_few, format_list
from ...manifests.disk.hashed import read_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.paths import SAMPLES, SOURCE
from ...manifests.records.models import Header, SampleRecord
from ..plan.builds import CheckedBuild
from ..recipes.set_spec import RESOURCE_FIELDS

MAX_NAMED_SETS = 3
"""The maximum number of sets that are named in a difference."""


def refuse_other_build(directory: Path, recorded: Header, build: CheckedBuild, header: Header) -> None:
    """Raise `BuildError` if a folder contains a different build. The message lists the differences.

    Parameters
    ----------
    directory : Path
        The folder to name in the message.
    recorded : Header
        The header of the build that the folder contains.
    build : CheckedBuild
        The requested build.
    header : Header
        The header of the requested build, with the resources of the requested sets. Each kind of resource (textures,
        surrogate models) is compared only if both headers contain it.
    """
    resources = set(RESOURCE_FIELDS.values())
    existing, requested = recorded.as_json(), header.as_json()
    before, after = ({key: values[key] for key in values.keys() - resources} for values in (existing, requested))
    problems = sorted(differences(before, after))
    if any(p.startswith("source.digest:") for p in problems):
        problems += _changed_samples(directory, build)
    for field in () if problems else resources:
        if existing.get(field) and requested.get(field):
            problems += differences({field: existing[field]}, {field: requested[field]})
    plugins = [p for p in problems if p.startswith("plugins[")]
    if problems:
        raise BuildError(
            f"{directory} already contains a different build. You can only add sets to it. Differences:\n"
            f"{format_list(problems, 20)}\n"
            "Choose another --out, or delete that directory."
            if problems != plugins
            else f"{directory} was built with different versions of these plugins:\n{format_list(problems, 20)}\n"
            "Restore the earlier files of the plugins, choose another --out, or delete that directory."
        )


def _changed_samples(directory: Path, build: CheckedBuild) -> list[str]:
    """Return one line for each sample that has changed since the build began.

    The list is empty if the recorded samples cannot be read.
    """
    now: dict[str, object] = {id: f"label {label}, {sha256}" for id, label, sha256 in build.source_rows}
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


def differences(existing: Any, requested: Any, field: str = "") -> Iterator[str]:
    """Yield one line for each field that differs between two JSON values.

    Examples
    --------
    >>> list(differences({"seed": 0, "source": {"name": "sample"}}, {"seed": 1, "source": {"name": "folder"}}))
    ['seed: existing 0, requested 1', "source.name: existing 'sample', requested 'folder'"]
    >>> list(differences([{"id": "fog/1"}], [{"id": "fog/1"}, {"id": "fog/2"}], "sets"))
    ['sets: 1 only in the requested build (fog/2)']
    """
    if isinstance(existing, Mapping) and isinstance(requested, Mapping):
        for key in [*existing, *(k for k in requested if k not in existing)]:
            yield from differences(existing.get(key), requested.get(key), f"{field}.{key}" if field else str(key))
    elif ids := _unshared_ids(existing, requested):
        yield f"{field}: {ids}"
    elif isinstance(existing, list) and isinstance(requested, list) and len(existing) == len(requested):
        for i, (a, b) in enumerate(zip(existing, requested, strict=True)):
            name = a.get("id", a.get("module", i)) if isinstance(a, Mapping) else i
            yield from differences(a, b, f"{field}[{name}]")
    elif existing != requested:
        yield f"{field}: existing {existing!r:.100}, requested {requested!r:.100}"


def _unshared_ids(existing: Any, requested: Any) -> str:
    """Return text that names the entries, such as sets, that only one of two lists has, or an empty string."""
    before, after = (
        [entry["id"] for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)]
        if isinstance(entries, list)
        else []
        for entries in (existing, requested)
    )
    in_before, in_after = set(before), set(after)
    unshared = {
        "existing": [name for name in before if name not in in_after],
        "requested": [name for name in after if name not in in_before],
    }
    return ", ".join(
        f"{len(names)} only in the {which} build ({first_few(names, MAX_NAMED_SETS)})"
        for which, names in unshared.items()
        if names
    )
