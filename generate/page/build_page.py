"""The page of a dataset, index.html."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...manifests.paths import has_region_table, moved_content
from ...manifests.reader import Dataset
from ...manifests.records.models import Manifest, SetRecord, StageRecord
from ...pages.document import render
from ..pixels.matrix import Block, blocks_of, severity_or_level, thin_out
from ..recipes.two_factor import calibration_text, vertical_notes
from .corruption_notes import OTHER, corruption_notes
from .similarity import (
    METRICS,
    aimed_rows,
    elastic_note,
    max_psnr,
    measurement_notes,
    metric_charts,
    rises_sentence,
)
from .thumbnails import CleanOf, Thumbnails, region_thumbnails

MAX_THUMBNAILS = 600
"""The largest number of sets with a thumbnail. If there are more sets, this number is chosen at even intervals."""
MAX_ROWS = 2000
"""The largest number of sets in a table."""
_COLUMNS = 5
"""The largest number of severities or levels that are shown in columns with headings."""
_SINGULAR = {"severities": "severity", "levels": "level"}
_MAX_NAMES = 4
"""The largest number of corruptions in a grid that is named after its corruptions. Larger grids are numbered."""
_SPARKLINES = ("MS-SSIM", "SSIM")
_MAX_IDS = 100


def build_page(data: Dataset, clean_of: CleanOf | None = None) -> bytes:
    """Return the page of a dataset.

    Parameters
    ----------
    data : Dataset
        A complete dataset with the images of all sets.
    clean_of : callable, optional
        A function that takes a sample index and returns the clean (H, W, C) uint8 image. It is used if the dataset has
        no set ``clean``. Without the function, the page of such a dataset shows no clean images.

    Returns
    -------
    bytes
        The page as UTF-8 text. It depends only on the dataset, the clean images, and the releases of corruptset and
        Pillow.

    Raises
    ------
    VerificationError
        Images or records cannot be read.
    """
    manifest, page = data.manifest, _Page(data, clean_of)
    thumbnails, blocks = page.thumbnails, page.blocks
    stages = [stage for record in manifest.sets for stage in record.stages]
    numbers = {stage.level if stage.severity is None else stage.severity for stage in stages}
    values: dict[str, Any] = {
        "m": manifest,
        "calibration": _calibration(manifest),
        "title": manifest.recipe.get("title") or manifest.name,
        "description": manifest.recipe.get("description") or "",
        "folder": f"{manifest.name}-{manifest.version}",
        "samples": thumbnails.count,
        "images": sum(s.count for s in manifest.sets),
        "bytes": sum(s.bytes for s in manifest.sets),
        "groups": page.groups(),
        "families": list(dict.fromkeys(page.family(block) for block in blocks)),
        "corruptions": list(dict.fromkeys(name for block in blocks for name in page.corruptions(block))),
        "severities": sorted(number for number in numbers if number is not None),
        "clean": thumbnails.clean(),
        "example": next((block.sets[0] for block in blocks), "clean"),
        "regions": region_thumbnails(data),
        "has_region_table": has_region_table(manifest),
        "aimed": aimed_rows(blocks, page.records),
        "measurement_notes": measurement_notes(manifest),
        "limitations": _limitations(manifest, page.without_thumbnail),
        "shown_samples": [(record.id, record.class_) for record in thumbnails.records],
    }
    return render("build.html", __package__, **values)


class _Page:
    """The sets of a dataset, prepared for its page."""

    def __init__(self, data: Dataset, clean_of: CleanOf | None) -> None:
        self.manifest = data.manifest
        self.records = {record.id: record for record in data.manifest.sets}
        self.blocks = blocks_of(self.records)
        ids = [name for block in self.blocks for name in block.shown]
        self.shown = set(thin_out(ids, MAX_THUMBNAILS))
        self.without_thumbnail = len(ids) - len(self.shown)
        self.thumbnails = Thumbnails(data, clean_of, len(self.shown))
        self.psnr = {
            kind: max_psnr(self.records[name] for block in self.blocks if block.kind == kind for name in block.sets)
            for kind in ("severities", "levels")
        }

    def groups(self) -> list[dict[str, Any]]:
        """Return the values that the template needs for groups of blocks. The blocks of a group share their columns."""
        groups = []
        for kind in dict.fromkeys(block.kind for block in self.blocks):
            blocks = [block for block in self.blocks if block.kind == kind]
            numbers = sorted({severity_or_level(s) for b in blocks if b.is_ladder for s in b.sets if s in self.shown})
            is_single = all(len(block.sets) == 1 for block in blocks)
            columns = numbers if len(numbers) <= _COLUMNS and not is_single else []
            layout = "headed" if columns else "" if not numbers else "cards" if is_single else "rows"
            shown = [self.block(block, columns) for block in blocks]
            groups.append({"columns": columns, "unit": _SINGULAR.get(kind, ""), "layout": layout, "blocks": shown})
        return groups

    def corruptions(self, block: Block) -> list[str]:
        """Return the names of the different corruptions in a block."""
        return list(dict.fromkeys(stage.corruption for name in block.sets for stage in self.records[name].stages))

    def family(self, block: Block) -> str:
        """Return the family of all corruptions in a block, or ``other`` if they have different families."""
        families = {corruption_notes(name).family for name in self.corruptions(block)}
        return families.pop() if len(families) == 1 else OTHER

    def block(self, block: Block, columns: Sequence[float]) -> dict[str, Any]:
        """Return the values that the template needs for a block of sets."""
        records = [self.records[name] for name in block.sets]
        shown = [record for record in records if record.id in self.shown]
        captions = {
            s.id: f"{_SINGULAR[block.kind]} {severity_or_level(s.id):g}" if block.is_ladder else s.id for s in records
        }
        places = {s.id: columns.index(severity_or_level(s.id)) + 2 for s in shown if columns}
        differing = [] if all(s.reproducible for s in records) else shown
        differences = [self.thumbnails.difference(s.id, captions[s.id]) for s in differing]
        charts = metric_charts(block, self.records, self.psnr[block.kind]) if block.is_ladder else []
        sparkline = next((chart for title in _SPARKLINES for chart in charts if chart.title == title), None)
        corruptions = self.corruptions(block)
        title = ", ".join(corruptions) if len(corruptions) <= _MAX_NAMES else block.name
        headings, rows = _table(records[:MAX_ROWS], captions, is_ladder=block.is_ladder)
        return {
            "block": block,
            "name": f"Two factors: {title}" if block.kind == "grid" else block.name,
            "id": f"sets-{block.name if block.is_ladder else f'{block.kind}-{self.blocks.index(block)}'}",
            "corruptions": corruptions,
            "notes": [corruption_notes(name) for name in corruptions],
            "thumbnails": {
                s.id: self.thumbnails.of(s.id, captions[s.id], _filters(s), places.get(s.id, 0)) for s in shown
            },
            "differences": [thumbnail for thumbnail in differences if thumbnail is not None],
            "charts": charts,
            "sparkline": sparkline,
            "rises": rises_sentence(sparkline) if sparkline is not None else "",
            "strength": elastic_note(records) if block.kind == "severities" else "",
            "headings": headings,
            "rows": rows,
            "role": ", ".join(dict.fromkeys(s.role for s in records)),
            "family": self.family(block),
        }


def _table(
    records: Sequence[SetRecord], captions: Mapping[str, str], *, is_ladder: bool
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of a table of sets."""
    parameters = list(dict.fromkeys(n for s in records for n in s.stages[0].parameters)) if is_ladder else []
    metrics = [metric for metric in METRICS if any(metric.value(s) is not None for s in records)]
    has_aliases = any(s.aliases for s in records)
    headings = ["set", *(parameters or ["stages"]), *(metric.title for metric in metrics), "images"]
    rows = []
    for s in records:
        cells = [_text(s.stages[0].parameters.get(name, "")) for name in parameters]
        cells = cells or [" then ".join(map(stage_text, s.stages))]
        measured = [metric.cell(s) for metric in metrics]
        rows.append([captions[s.id], *cells, *measured, str(s.count), *[", ".join(s.aliases)] * has_aliases])
    return [*headings, *["also called"] * has_aliases], rows


def _filters(record: SetRecord) -> Mapping[str, str]:
    """Return the severities and corruptions by which the filters of the page show or hide a set."""
    numbers = {f"{s.severity or s.level}" for s in record.stages if s.severity is not None or s.level is not None}
    corruptions = dict.fromkeys(stage.corruption for stage in record.stages)
    return {"severity": " ".join(sorted(numbers)), "corruption": " ".join(corruptions)}


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def stage_text(stage: StageRecord) -> str:
    """Return a short description of a stage: corruption, severity or level, and parameters."""
    numbers = {"severity": stage.severity, "level": stage.level}
    strength = "".join(f" {name} {number}" for name, number in numbers.items() if number is not None)
    parameters = ", ".join(f"{name} {_text(value)}" for name, value in stage.parameters.items())
    return f"{stage.corruption}{strength}" + (f" ({parameters})" if parameters else "")


def _list_set_ids(ids: Iterable[str]) -> list[str]:
    """Return a list with one line that names up to 100 set ids. The list is empty if there are no ids."""
    every = list(ids)
    more = f" and {len(every) - _MAX_IDS} more" if len(every) > _MAX_IDS else ""
    return [", ".join(every[:_MAX_IDS]) + more] if every else []


def _calibration(manifest: Manifest) -> str:
    """Return the calibration of a dataset with its meaning and its notes, or an empty string if none is recorded."""
    recipe = manifest.recipe
    if "calibration" not in recipe:
        return ""
    text = calibration_text(str(recipe["calibration"]), recipe.get("calibration_side", 0))
    return ". ".join([text, *vertical_notes(stage for record in manifest.sets for stage in record.stages)])


def _limitations(manifest: Manifest, without_thumbnail: int) -> list[tuple[str, list[str]]]:
    """Return headings, each with its lines of text, about excluded images and other limitations of a dataset."""
    found = [
        ("Images of the source that were left out, because they cannot be used",
         [f"{e.path}: {e.reason}" for e in manifest.excluded]),
        ("Sets whose pixels may differ slightly between machines, because they depend on a model’s gradients",
         _list_set_ids(s.id for s in manifest.sets if not s.reproducible)),
        ("Sets for tuning, not for testing (role validation)",
         _list_set_ids(s.id for s in manifest.sets if s.role == "validation")),
        ("Corruptions that move content, so boxes and masks of the clean images do not fit", moved_content(manifest)),
        ("Textures that affect the pixels", [f"{t.name}: {t.sha256}" for t in manifest.textures]),
        ("Models whose gradients affect the pixels",
         [f"{s.get('name')}: weights {s.get('weights')}" for s in manifest.surrogates]),
        ("Sets without images on this page",
         [f"{without_thumbnail} of {len(manifest.sets)}"] if without_thumbnail else []),
    ]  # fmt: skip
    return [(heading, lines) for heading, lines in found if lines]
