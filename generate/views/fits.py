"""Which sets and which images go into a view."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

from ..recipes.expectations import Named, refusal
from ..recipes.set_spec import SetSpec
from .layouts import LAYOUTS, Layout
from .subject import SetRef

_Set = TypeVar("_Set", SetSpec, SetRef)


def placed(layout: Layout, sets: Sequence[_Set], named: Collection[str] = ()) -> list[_Set]:
    """Return the sets that go into a view: without clean where it has no place for that, unless it is named, or there is no other."""
    if layout.takes_clean:
        return list(sets)
    return [one for one in sets if one.stages or not set(named).isdisjoint(one.names)] or list(sets)


def unexpected(layout: Layout, images: Sequence[Named], *, all_seen: bool = True) -> str | None:
    """Return why images do not go into a view, with the views that fit, or None.

    Parameters
    ----------
    layout : Layout
    images : sequence of (name, (width, height, channels))
        As they would lie in the view.
    all_seen : bool
        Whether these are all images.
    """
    problems = [] if layout.expects is None else layout.expects.problems(images, all_seen=all_seen)
    if layout.expects is None or not problems:
        return None
    fitting = [name for name, other in LAYOUTS.items() if other.expects is not None and not other.expects.problems(images)]
    fit = f"Views that fit: {', '.join(fitting)}; any" if fitting else "Any"
    instead = f"{fit} images go into {', '.join(name for name, other in LAYOUTS.items() if other.expects is None)}."
    return refusal(f"The view {layout.name}", layout.expects, problems, instead)
