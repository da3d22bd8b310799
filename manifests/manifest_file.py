"""manifest.json: its bytes, and reading it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import IncompleteBuild, ParameterError, VerificationError, first_few, listed
from .disk.listing import read_small
from .disk.remote import data_folder, local_folder
from .paths import MANIFEST, SAMPLES, STREAM, UNPACK_STATE, is_begun, unfinished_folder
from .records.models import SCHEMA_VERSION, Manifest
from .records.parsing import record_or_mistakes
from .records.report import Problem

MANIFEST_CAP = 512 << 20
"""Bytes: a manifest of 10,000 sets and 100,000 shards has about 40 MB."""
MOST_NAMED = 12
"""Data sets in a folder that are named."""


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the bytes of manifest.json: fields in the model's order, indented, UTF-8.

    Equal manifests have equal bytes: the parts that have no order of their own (recipe, parameters, selection ...) are
    sorted by key.
    """
    value = {key: _sorted(part) if isinstance(part, dict) else part for key, part in manifest.as_json().items()}
    value["sets"] = [
        {**s, "stages": [{**t, "parameters": _sorted(t["parameters"])} for t in s["stages"]]} for s in value["sets"]
    ]
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(v) for v in value] if isinstance(value, list) else value


def parse_manifest(data: bytes, where: str | Path = MANIFEST) -> Manifest:
    """Return a manifest from its bytes, or raise VerificationError with every field that is wrong."""
    manifest, mistakes = record_or_mistakes(Manifest, data)
    if manifest is None:
        raise VerificationError(f"{where} does not follow schema {SCHEMA_VERSION}:\n{listed(mistakes)}")
    return manifest


def read_manifest(directory: Path, *, follow_links: bool) -> bytes | Problem:
    """Return the bytes of manifest.json, or why they cannot be had."""
    data = read_small(directory, MANIFEST, MANIFEST_CAP, follow_links=follow_links)
    if isinstance(data, Problem) and data.kind == "missing":
        return Problem(MANIFEST, "incomplete", _incomplete(directory))
    return data


def _incomplete(directory: Path) -> str:
    """Return what to say of a directory without manifest.json, with the next step."""
    if (directory / UNPACK_STATE).exists():
        return (
            f"{directory} was not unpacked to the end: it has no {MANIFEST} yet. Run the same `corruptset unpack` "
            "command again; what is there is kept."
        )
    if (directory / STREAM).is_file():
        return (
            f"{directory} is a changing stream: webdataset reads its tars, and `corruptset stream` of "
            "corruptset-streams checks it."
        )
    for folder in (directory, unfinished_folder(directory)):
        if is_begun(folder):
            subject = f"{directory} does not exist yet, but {folder}" if folder != directory else f"{folder}"
            return (
                f"{subject} is an incomplete build. Resume it by running the same `corruptset build` command "
                f"again (same recipe, source, seed and --out {directory.parent}); what is committed is kept."
            )
    if not directory.exists():
        return f"{directory} does not exist. Give the directory that a build wrote, <out>/<name>-<version>."
    if archives := sorted(directory.glob("data/[!.]*-metadata.*")):
        return (
            f"{directory} holds the archives of a data set. Unpack them (`corruptset unpack {archives[0].parent}/* "
            "--out DIR`) and name what that makes; or, with the source of the data set, have its images made: "
            "corruptset.open(..., source=...)."
        )
    inner = sorted(str(p.parent) for name in (MANIFEST, STREAM) for p in directory.glob(f"*/{name}"))
    if inner:
        ask = f"Did you mean {inner[0]}?" if len(inner) == 1 else f"Name one of them: {first_few(inner, MOST_NAMED)}."
        return f"{directory} is not a data set itself (it has no {MANIFEST}), but holds {len(inner)}. {ask}"
    return (
        f"{directory} has no {MANIFEST}: an incomplete build or not a corruptset data set. Resume a build with its "
        f"own command; of a data set that was whole, fetch {MANIFEST} again."
    )


def load_manifest(directory: Path | str) -> Manifest:
    """Return the manifest of a data set.

    IncompleteBuild says how to resume where there is none; VerificationError lists every field that is wrong.
    """
    directory = data_folder(directory)
    data = read_manifest(directory, follow_links=True)
    if not isinstance(data, Problem):
        return parse_manifest(data, directory / MANIFEST)
    if data.kind == "incomplete":
        raise IncompleteBuild(data.detail)
    raise VerificationError(f"{directory / MANIFEST} {data.detail}.")


def result_path(path: str | os.PathLike[str], *, is_page: bool = False) -> Path:
    """Return where results go on a disk.

    StoreError: as `local_folder`. ParameterError: it lies in a data set, or a page is not called as one.
    """
    place = local_folder(path, "results are written to")
    for folder in (place.resolve(), *place.resolve().parents):
        if (folder / MANIFEST).is_file() and (folder / SAMPLES).is_file():
            raise ParameterError(
                f"{place} is or lies in the data set {folder}, which would no longer verify. Choose another --out."
            )
    if is_page and place.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{place} is no name of a page. Choose an --out that ends in .html.")
    return place
