"""Loaders that a data set goes into, and the lines to type for each.

They are those of docs/use-it-with.md, with the data set's own names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ...errors import CorruptsetError
from ...manifests.records.models import Manifest, SampleRecord
from ..exports.contents import ExportContents, ExportOptions, placed, unexpected
from ..exports.layouts import Layout, get_layout
from ..exports.placement import Placement
from ..recipes.expectations import Named

_TOKEN = re.compile(r"@(\w+)@")


@dataclass(frozen=True)
class Loader:
    """How one loader opens the data set."""

    id: str
    name: str
    steps: Sequence[Mapping[str, str]]
    """What is typed: `text`, lines of a shell or of Python, and which of them, the `kind`."""


@cache
def loader_table() -> Sequence[Mapping[str, Any]]:
    """Return loaders.toml."""
    text = (resources.files(__package__) / "loaders.toml").read_text(encoding="utf-8")
    entries: list[Mapping[str, Any]] = tomllib.loads(text)["loader"]
    return entries


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its ``@names@`` replaced."""
    return _TOKEN.sub(lambda match: values[match[1]], text.strip("\n"))


def fitting_loaders(manifest: Manifest, samples: Sequence[SampleRecord], shape: tuple[int, int, int]) -> list[Loader]:
    """Return the loaders that a data set goes into.

    Parameters
    ----------
    manifest : Manifest
    samples : sequence of SampleRecord
        A few of them: what a layout refuses is asked with these alone, so that a page of many samples is made as fast.
    shape : (height, width, channels)
        Of an image.
    """
    contents = ExportContents.of(manifest, samples)
    corrupted = [ref for ref in contents.sets if ref.stages]
    tabled = [ref for ref in corrupted if ref.severity is not None]
    example = next(iter(tabled or corrupted or contents.sets))
    values = {
        "folder": f"{manifest.name}-{manifest.version}",
        "set": example.id,
        "corruption": example.corruption or example.id,
        "severity": str(example.severity or 0),
        "shape": ", ".join(map(str, shape)),
        "label": "int" if manifest.classes else "None",
    }
    loaders = []
    for entry in loader_table():
        more = _fit(entry, manifest, contents, shape, bool(tabled))
        if more is not None:
            steps = [{**step, "text": filled(step["text"], values | more)} for step in entry["steps"]]
            loaders.append(Loader(entry["id"], entry["name"], steps))
    return loaders


def _fit(
    entry: Mapping[str, Any], manifest: Manifest, contents: ExportContents, shape: tuple[int, int, int], tabled: bool
) -> dict[str, str] | None:
    """Return further values for a loader's lines; None where it cannot take the data set."""
    encoding, count = manifest.encoding, max((s.count for s in manifest.sets), default=0)
    fits = (
        entry.get("container", encoding["containers"][0]) in encoding["containers"]
        and entry.get("format", encoding["format"]) == encoding["format"]
        and entry.get("samples", count) == count
        and (tabled or not entry.get("severities"))
        and ("has" not in entry or any(ref.corruption == entry["has"] for ref in contents.sets))
    )
    if not fits or "layout" not in entry:
        return {} if fits else None
    layout = get_layout(entry["layout"])
    tabled_sets = [ref for ref in contents.sets if ref.severity is not None]
    for sets, globs in ((placed(layout, contents.sets), ""), (tabled_sets, " --sets '*/*'")):
        if (top := _top(layout, contents.only(ref.id for ref in sets), shape)) is not None:
            return {"top": top, "globs": globs} if entry.get("top", top) == top else None
    return None


def _top(layout: Layout, contents: ExportContents, shape: tuple[int, int, int]) -> str | None:
    """Return the top folder of an export of some sets; None where it refuses them."""
    named: list[Named] = [(sample.id, (shape[1], shape[0], shape[2])) for sample in contents.samples]
    try:
        top = Placement(layout, contents, ExportOptions(allow_missing_classes=layout.numbers_classes)).top
    except CorruptsetError:
        return None
    return top if unexpected(layout, named) is None else None
