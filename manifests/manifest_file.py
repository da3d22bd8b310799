"""Read manifest.json, and convert a manifest to its bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import IncompleteBuild, ParameterError, VerificationError, first_few, format_list
from .disk.listing import read_small
from .disk.remote import data_folder, local_folder
from .paths import MANIFEST, SAMPLES, STREAM, UNPACK_STATE, is_begun, unfinished_folder
from .records.models import SCHEMA_VERSION, Manifest
from .records.parsing import parse_record
from .records.report import Problem

MANIFEST_CAP = 512 << 20
"""Limit on the size of manifest.json in bytes. A manifest of 10,000 sets and 100,000 shards has about 40 MB."""
MAX_NAMED = 12
"""The maximum number of datasets that an error message lists, if a folder contains several datasets."""


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the bytes of manifest.json: indented JSON in UTF-8, with the fields in the order of the model.

    Equal manifests have equal bytes, because mappings without a defined order, such as the recipe and parameters, are
    sorted by key.
    """
    value = {key: _sort_keys(part) if isinstance(part, dict) else part for key, part in manifest.as_json().items()}
    value["sets"] = [
        {**s, "stages": [{**t, "parameters": _sort_keys(t["parameters"])} for t in s["stages"]]} for s in value["sets"]
    ]
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"


def _sort_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(v) for v in value] if isinstance(value, list) else value


def parse_manifest(data: bytes, where: str | Path = MANIFEST) -> Manifest:
    """Parse the bytes of a manifest, or raise a `VerificationError` that lists all invalid fields."""
    manifest, errors = parse_record(Manifest, data)
    if manifest is None:
        raise VerificationError(f"{where} does not follow schema {SCHEMA_VERSION}:\n{format_list(errors)}")
    return manifest


def read_manifest(directory: Path, *, follow_links: bool) -> bytes | Problem:
    """Return the bytes of manifest.json, or the problem that prevents reading it."""
    data = read_small(directory, MANIFEST, MANIFEST_CAP, follow_links=follow_links)
    if isinstance(data, Problem) and data.kind == "missing":
        return Problem(MANIFEST, "incomplete", _incomplete(directory))
    return data


def _incomplete(directory: Path) -> str:
    """Return the error message for a directory without manifest.json, including the next step."""
    if (directory / UNPACK_STATE).exists():
        return (
            f"{directory} is incomplete, because unpacking was interrupted. To resume, run the same `corruptset "
            "unpack` command again. Files that were unpacked before are kept."
        )
    if (directory / STREAM).is_file():
        return (
            f"{directory} is a stream of the package corruptset-streams, not a dataset. Read its tars with "
            "webdataset, or check it with `corruptset stream`."
        )
    for folder in (directory, unfinished_folder(directory)):
        if is_begun(folder):
            subject = f"{directory} does not exist yet, but {folder}" if folder != directory else f"{folder}"
            return (
                f"{subject} is an incomplete build. To resume, run the same `corruptset build` command again (with the "
                f"same recipe, source, seed and --out {directory.parent}). Completed parts are kept."
            )
    if not directory.exists():
        return f"{directory} does not exist. Specify the directory that a build wrote, <out>/<name>-<version>."
    if archives := sorted(directory.glob("data/[!.]*-metadata.*")):
        return (
            f"{directory} contains the archives of a dataset. Unpack them with `corruptset unpack "
            f"{archives[0].parent}/* --out DIR`, and specify the unpacked folder. If the archives have no images, "
            "pass the source of the dataset as well: corruptset.open(..., source=...)."
        )
    inner = sorted(str(p.parent) for name in (MANIFEST, STREAM) for p in directory.glob(f"*/{name}"))
    if inner:
        ask = f"Did you mean {inner[0]}?" if len(inner) == 1 else f"Specify one of them: {first_few(inner, MAX_NAMED)}."
        return f"{directory} is not a dataset (it has no {MANIFEST}), but it contains {len(inner)}. {ask}"
    return (
        f"{directory} has no {MANIFEST}, so it is an incomplete build or not a corruptset dataset. To resume a "
        f"build, run its command again. If the dataset was complete before, restore {MANIFEST} from its origin."
    )


def load_manifest(directory: Path | str) -> Manifest:
    """Return the manifest of a dataset.

    Raises
    ------
    IncompleteBuild
        There is no manifest. The message says how to continue.
    VerificationError
        The manifest cannot be read, or has invalid fields. The message lists all of them.
    """
    directory = data_folder(directory)
    data = read_manifest(directory, follow_links=True)
    if not isinstance(data, Problem):
        return parse_manifest(data, directory / MANIFEST)
    if data.kind == "incomplete":
        raise IncompleteBuild(data.detail)
    raise VerificationError(f"{directory / MANIFEST} {data.detail}.")


def result_path(path: str | os.PathLike[str], *, is_page: bool = False) -> Path:
    """Return the local path to which results are written.

    Raises
    ------
    StoreError
        The path is a URL.
    ParameterError
        The path is inside a dataset, or the name of a page does not end in ``.html``.
    """
    place = local_folder(path, "results are written to")
    for folder in (place.resolve(), *place.resolve().parents):
        if (folder / MANIFEST).is_file() and (folder / SAMPLES).is_file():
            raise ParameterError(
                f"{place} is inside the dataset {folder}, and additional files there would make `corruptset verify` "
                "fail. Choose another --out."
            )
    if is_page and place.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{place} is not the name of a page. Choose an --out that ends in .html.")
    return place
