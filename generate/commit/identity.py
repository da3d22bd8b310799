"""Comparison of the headers of builds: whether two commands mean the same build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import BuildError, VerificationError, listed
from ...manifests.disk.hashed import read_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.paths import SAMPLES, SOURCE
from ...manifests.records.models import Header, SampleRecord
from ..plan.builds import CheckedBuild
from ..recipes.set_spec import RESOURCE_FIELDS


def refuse_other_build(directory: Path, recorded: Header, build: CheckedBuild, header: Header) -> None:
    """Raise `BuildError` with the differences if a folder holds another build.

    Parameters
    ----------
    directory : Path
        The folder, which errors name.
    recorded : Header
        The header of the build that the folder holds.
    build : CheckedBuild
        The build that is asked for.
    header : Header
        Its header, with the resources of the sets that are asked for. Resources are compared if both have some.
    """
    resources = set(RESOURCE_FIELDS.values())
    present, asked = recorded.as_json(), header.as_json()
    here, wanted = ({key: one[key] for key in one.keys() - resources} for one in (present, asked))
    problems = sorted(differences(here, wanted))
    if any(p.startswith("source.digest:") for p in problems):
        problems += _changed_samples(directory, build)
    for field in () if problems else resources:
        if present.get(field) and asked.get(field):
            problems += differences({field: present[field]}, {field: asked[field]})
    if problems:
        raise BuildError(
            f"{directory} holds another build than the one asked for. What differs:\n"
            f"{listed(problems, 20)}\n"
            "Choose another --out, or delete that directory."
        )


def _changed_samples(directory: Path, build: CheckedBuild) -> list[str]:
    """Return one line for each sample that has changed since the build was begun, if the samples were recorded."""
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
