"""index.html of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...manifests.paths import holds_region_table, moved_content
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest, SetRecord, StageRecord
from ...pages.document import render
from ..pixels.matrix import Block, blocks_of, number_of, thinned
from .known import OTHER, known_corruption
from .loaders import fitting_loaders
from .pictures import CleanOf, Pictures, region_pictures
from .quality import METRICS, about_metrics, aimed_rows, curves_of, most_psnr, rises_of

MOST_SHOWN = 600
"""Sets with a picture; of more, so many spread evenly, and the others stand in the tables alone."""
ONE = {"severities": "severity", "levels": "level"}
"""What a number of a ladder is."""
_NAMED = 4
"""Corruptions that a grid is called by; one of more has a number."""
_SPARKS = ("MS-SSIM", "SSIM")
_MOST_NAMED = 100
MOST_LISTED = 2000
"""Sets in tables; of more, so many."""


def build_page(data: DataSet, clean_of: CleanOf | None = None) -> bytes:
    """Return index.html of a data set.

    Parameters
    ----------
    data : DataSet
        Whole: with the images of all sets.
    clean_of : callable, optional
        From a sample's index to its clean (H, W, C) image of uint8. Used where the data set has no set ``clean``;
        without it the page shows no clean images.

    Returns
    -------
    bytes
        UTF-8. The same for the same data set, the same clean images and the same release of corruptset and Pillow.

    Raises
    ------
    VerificationError
        Images or records cannot be read.
    """
    manifest, page = data.manifest, _Page(data, clean_of)
    pictures, blocks = page.pictures, page.blocks
    stages = [stage for record in manifest.sets for stage in record.stages]
    numbers = {stage.level if stage.severity is None else stage.severity for stage in stages}
    values: dict[str, Any] = {
        "m": manifest,
        "title": manifest.recipe.get("title") or manifest.name,
        "description": manifest.recipe.get("description") or "",
        "folder": f"{manifest.name}-{manifest.version}",
        "samples": pictures.count,
        "images": sum(s.count for s in manifest.sets),
        "bytes": sum(s.bytes for s in manifest.sets),
        "blocks": [page.block(block, number) for number, block in enumerate(blocks)],
        "families": list(dict.fromkeys(page.family(block) for block in blocks)),
        "corruptions": list(dict.fromkeys(name for block in blocks for name in page.corruptions(block))),
        "severities": sorted(number for number in numbers if number is not None),
        "clean": pictures.clean(),
        "loaders": fitting_loaders(manifest, pictures.records, pictures.shape),
        "regions": region_pictures(data),
        "has_region_table": holds_region_table(manifest),
        "aimed": aimed_rows(blocks, page.records),
        "about_metrics": about_metrics(manifest),
        "odd": _odd(manifest, page.without_picture),
        "shown_samples": [(record.id, record.class_) for record in page.samples],
    }
    return render("build.html", __package__, **values)


class _Page:
    """A data set as its page shows it."""

    def __init__(self, data: DataSet, clean_of: CleanOf | None) -> None:
        self.manifest = data.manifest
        self.records = {record.id: record for record in data.manifest.sets}
        self.blocks = blocks_of(self.records)
        ids = [name for block in self.blocks for name in block.pictured]
        self.pictured = set(thinned(ids, MOST_SHOWN))
        self.without_picture = len(ids) - len(self.pictured)
        self.pictures = Pictures(data, clean_of, [name for name in self.records if name in self.pictured])
        self.samples = self.pictures.records[: self.pictures.samples]
        self.psnr = {
            kind: most_psnr(self.records[name] for block in self.blocks if block.kind == kind for name in block.sets)
            for kind in ("severities", "levels")
        }

    def corruptions(self, block: Block) -> list[str]:
        """Return every corruption of a block's sets, once."""
        return list(dict.fromkeys(stage.corruption for name in block.sets for stage in self.records[name].stages))

    def family(self, block: Block) -> str:
        """Return the family of a block's corruptions, where it is one."""
        families = {known_corruption(name).family for name in self.corruptions(block)}
        return families.pop() if len(families) == 1 else OTHER

    def block(self, block: Block, number: int) -> dict[str, Any]:
        """Return what the template writes out of a block of sets."""
        records = [self.records[name] for name in block.sets]
        few = [record for record in records if record.id in self.pictured]
        captions = {s.id: f"{ONE[block.kind]} {number_of(s.id):g}" if block.is_ladder else s.id for s in records}
        parameters = list(dict.fromkeys(n for s in records for n in s.stages[0].parameters)) if block.is_ladder else []
        metrics = [metric for metric in METRICS if any(metric.value(s) is not None for s in records)]
        aliased = any(s.aliases for s in records)
        rows = []
        for s in records[:MOST_LISTED]:
            cells = [_value(s.stages[0].parameters.get(name, "")) for name in parameters]
            cells = cells or [" then ".join(map(stage_text, s.stages))]
            measured = [metric.cell(s) for metric in metrics]
            rows.append([captions[s.id], *cells, *measured, str(s.count), *[", ".join(s.aliases)] * aliased])
        curves = curves_of(block, self.records, self.psnr[block.kind]) if block.is_ladder else []
        spark = next((curve for title in _SPARKS for curve in curves if curve.title == title), None)
        differing = [] if all(s.reproducible for s in records) else few
        differences = [self.pictures.difference(s.id, captions[s.id]) for s in differing]
        measures = [f"{metric.name}{metric.unit}" for metric in metrics]
        named = self.corruptions(block)
        what = ", ".join(named) if len(named) <= _NAMED else block.name
        return {
            "block": block,
            "name": f"Two factors: {what}" if block.kind == "grid" else block.name,
            "id": f"sets-{block.name if block.is_ladder else f'{block.kind}-{number}'}",
            "corruptions": named,
            "known": [known_corruption(name) for name in named],
            "pictures": {s.id: self.pictures.of(s.id, captions[s.id], _filters(s)) for s in few},
            "differences": [picture for picture in differences if picture is not None],
            "curves": curves,
            "spark": spark,
            "rises": rises_of(spark) if spark is not None else "",
            "columns": ["set", *(parameters or ["stages"]), *measures, "images", *["also called"] * aliased],
            "rows": rows,
            "role": ", ".join(dict.fromkeys(s.role for s in records)),
            "family": self.family(block),
        }


def _filters(record: SetRecord) -> Mapping[str, str]:
    """Return what the filters of the page look at."""
    numbers = {f"{s.severity or s.level}" for s in record.stages if s.severity is not None or s.level is not None}
    corruptions = dict.fromkeys(stage.corruption for stage in record.stages)
    return {"severity": " ".join(sorted(numbers)), "corruption": " ".join(corruptions)}


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def stage_text(stage: StageRecord) -> str:
    """Return a stage with its parameters, for people."""
    numbers = {"severity": stage.severity, "level": stage.level}
    said = "".join(f" {name} {number}" for name, number in numbers.items() if number is not None)
    parameters = ", ".join(f"{name} {_value(value)}" for name, value in stage.parameters.items())
    return f"{stage.corruption}{said}" + (f" ({parameters})" if parameters else "")


def _together(ids: Sequence[str]) -> list[str]:
    """Return set ids as one line, not too long."""
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return [", ".join(ids[:_MOST_NAMED]) + more] if ids else []


def _odd(manifest: Manifest, without_picture: int) -> list[tuple[str, list[str]]]:
    """Return what is odd or left out: headings with lines."""
    local = [s.id for s in manifest.sets if not s.reproducible]
    extra = [s.id for s in manifest.sets if s.role == "validation"]
    found = [
        ("Samples left out of the source as unusable", [f"{e.path}: {e.reason}" for e in manifest.excluded]),
        (
            "Sets that another machine makes slightly otherwise, because a model's gradients go into them",
            _together(local),
        ),
        ("Sets for tuning, not for testing (role validation)", _together(extra)),
        ("Corruptions that move content: boxes and masks of the clean images do not fit", moved_content(manifest)),
        ("Textures that went into pixels", [f"{t.name}: {t.sha256}" for t in manifest.textures]),
        (
            "Models whose gradients some sets follow",
            [f"{s.get('name')}: weights {s.get('weights')}" for s in manifest.surrogates],
        ),
        ("Sets without a picture here", [f"{without_picture} of {len(manifest.sets)}"] if without_picture else []),
    ]
    return [(heading, lines) for heading, lines in found if lines]
