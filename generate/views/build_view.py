"""``build --view``: the layout of a build that is to be, so that its images are written once, where a loader wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import BuildError
from ...manifests.records.models import ClassRecord
from ..pixels.encoding import Encoding
from ..recipes.set_spec import SetSpec
from ..sources.source import Sample
from .layout import Layout, ViewOptions
from .registry import VIEWS, get_view, make_layout
from .subject import SetRef, Subject


def build_layout(
    view: str,
    *,
    name: str,
    version: str,
    sets: Iterable[SetSpec],
    samples: Sequence[Sample],
    classes: tuple[ClassRecord, ...],
    encoding: Encoding,
) -> Layout:
    """Return where a build's images go.

    Raises
    ------
    BuildError
        The view cannot be built straight into, or the sets and samples do not fit into it.
    """
    if not get_view(view).buildable:
        able = ", ".join(v for v, entry in VIEWS.items() if entry.buildable)
        raise BuildError(
            f"A build cannot write straight into the view {view}, only into {able}. Build first, then `corruptset export {view}`."
        )
    refs = tuple(SetRef.of(s.id, s.aliases, s.stages) for s in sorted(sets, key=lambda s: s.id))
    layout = make_layout(view, Subject(name, version, refs, samples, classes, encoding.format), ViewOptions())
    if layout.array_rows and not encoding.lossless:
        raise BuildError(
            f"The view {view} holds arrays of pixels, and the recipe {name} stores {encoding.format.upper()}, with loss. "
            "Choose a recipe with a lossless encoding (png), or build first and export."
        )
    return layout


def view_record(layout: Layout) -> dict[str, Any]:
    """Return what a manifest says of its view, without the view's sets: what must be equal for two builds to be one."""
    return {
        "view": layout.view,
        "top": layout.top,
        **({"numbered": True} if layout.numbered else {}),
        **({"own_names": True} if layout.own_names else {}),
    }
