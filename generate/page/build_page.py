"""index.html of a data set."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from ...manifests.layout import moved_content
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest, SetRecord, StageRecord
from ...pages.document import render
from ..pixels.blocks import Block, blocks_of
from ..pixels.contact_sheet import thinned
from .known import OTHER, drawn_values, known_corruption
from .loaders import fitting_loaders
from .pictures import CleanOf, Pictures, region_pictures
from .quality import METRICS, about_metrics, aimed_rows, cells_of, curves_of, most_psnr, rises_of, value_of

MOST_SHOWN = 600
"""Sets with a picture; of more, so many spread evenly, and the others stand in the tables alone."""
_MOST_DRAWN = 5
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
    manifest = data.manifest
    blocks = blocks_of(manifest.sets)
    ids = [record.id for block in blocks for record in block.pictured]
    some = set(thinned(ids, MOST_SHOWN))
    pictures = Pictures(data, clean_of, [s.id for s in manifest.sets if s.id in some])
    shown = pictures.records[: pictures.samples]
    tops = {
        kind: most_psnr([block for block in blocks if block.kind == kind]) for kind in {block.kind for block in blocks}
    }
    values: dict[str, Any] = {
        "m": manifest,
        "title": manifest.recipe.get("title") or manifest.name,
        "description": manifest.recipe.get("description") or "",
        "folder": f"{manifest.name}-{manifest.version}",
        "samples": pictures.count,
        "images": sum(s.count for s in manifest.sets),
        "bytes": sum(s.bytes for s in manifest.sets),
        "blocks": [
            _block(manifest, block, pictures, some, number, [record.id for record in shown], tops[block.kind])
            for number, block in enumerate(blocks)
        ],
        "families": list(dict.fromkeys(_family(block) for block in blocks)),
        "corruptions": list(dict.fromkeys(name for block in blocks for name in block.corruptions)),
        "severities": _numbers(blocks),
        "clean": pictures.clean(),
        "loaders": fitting_loaders(manifest, pictures.records, pictures.shape),
        "regions": region_pictures(data),
        "aimed": aimed_rows(blocks),
        "about_metrics": about_metrics(manifest),
        "odd": _odd(manifest, len(ids) - len(some)),
        "shown_samples": [(record.id, record.class_) for record in shown],
    }
    return render("build.html", __package__, **values)


def _block(
    manifest: Manifest,
    block: Block[SetRecord],
    maker: Pictures,
    pictured: Container[str],
    number: int,
    ids: Sequence[str],
    top: float | None,
) -> dict[str, Any]:
    """Return what the template writes out of a block of sets; `ids` are of the samples shown, `top` is that of the axis
    of PSNR.
    """
    plain, few = _plain(block), [s for s in block.sets if s.id in pictured]
    captions = {s.id: _caption(block, s) for s in block.sets}
    parameters = list(dict.fromkeys(name for s in block.sets for name in s.stages[0].parameters)) if plain else []
    metrics = [metric for metric in METRICS if any(value_of(s, metric[0]) is not None for s in block.sets)]
    aliased = any(s.aliases for s in block.sets)
    rows = []
    for s in block.sets[:MOST_LISTED]:
        cells = [_value(s.stages[0].parameters.get(name, "")) for name in parameters] or [
            " then ".join(map(stage_text, s.stages))
        ]
        rows.append(
            [captions[s.id], *cells, *cells_of(s, metrics), str(s.count), *([", ".join(s.aliases)] if aliased else [])]
        )
    differing = [] if all(s.reproducible for s in block.sets) else few
    drawn: dict[str, list[str]] = {}
    for s in block.sets[:_MOST_DRAWN] if plain else []:
        for draw, values in drawn_values(manifest, s, ids).items():
            drawn.setdefault(draw, []).append(f"{captions[s.id]}: {values}")
    curves = curves_of(block, top) if plain else []
    spark = next((curve for title in _SPARKS for curve in curves if curve.title == title), None)
    return {
        "block": block,
        "id": f"sets-{block.name if plain else f'{block.kind}-{number}'}",
        "known": [known_corruption(name) for name in block.corruptions],
        "pictures": {s.id: maker.of(s.id, captions[s.id], _filters(s)) for s in few},
        "differences": [picture for s in differing if (picture := maker.difference(s.id, captions[s.id])) is not None],
        "curves": curves,
        "spark": spark,
        "rises": rises_of(spark) if spark is not None else "",
        "columns": [
            "set",
            *(parameters or ["stages"]),
            *(f"{name}{unit}" for _, name, unit, _ in metrics),
            "images",
            *["also called"] * aliased,
        ],
        "rows": rows,
        "drawn": drawn,
        "role": ", ".join(dict.fromkeys(s.role for s in block.sets)),
        "family": _family(block),
    }


def _plain(block: Block[SetRecord]) -> bool:
    """Whether its sets are one corruption at several severities or levels."""
    return block.kind in ("severities", "levels")


def _family(block: Block[SetRecord]) -> str:
    families = {known_corruption(name).family for name in block.corruptions}
    return families.pop() if len(families) == 1 else OTHER


def _caption(block: Block[SetRecord], record: SetRecord) -> str:
    return (
        f"{'severity' if block.kind == 'severities' else 'level'} {block.number(record)}"
        if _plain(block)
        else record.id
    )


def _filters(record: SetRecord) -> dict[str, str]:
    numbers = {f"{s.severity or s.level}" for s in record.stages if s.severity is not None or s.level is not None}
    return {
        "severity": " ".join(sorted(numbers)),
        "corruption": " ".join(dict.fromkeys(s.corruption for s in record.stages)),
    }


def _numbers(blocks: Sequence[Block[SetRecord]]) -> list[float]:
    numbers = {s.severity if s.severity is not None else s.level for b in blocks for r in b.sets for s in r.stages}
    return sorted(n for n in numbers if n is not None)


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def stage_text(stage: StageRecord) -> str:
    """Return a stage with its parameters, for people."""
    number = (
        f" severity {stage.severity}"
        if stage.severity is not None
        else f" level {stage.level}"
        if stage.level is not None
        else ""
    )
    parameters = ", ".join(f"{name} {_value(value)}" for name, value in stage.parameters.items())
    return f"{stage.corruption}{number}" + (f" ({parameters})" if parameters else "")


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
