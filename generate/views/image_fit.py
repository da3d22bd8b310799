"""Images and a view held against each other: what its loaders do not expect is refused, with the views that fit."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from ...errors import BuildError
from ..recipes.expectations import Expects, Named, refusal
from .registry import VIEWS, get_view


def expected_by(view: str) -> Expects | None:
    """Return what images the loaders of a view expect: its module's ``EXPECTS``; None is any."""
    module = importlib.import_module(f".{get_view(view).module}", __package__)
    found: Expects | None = getattr(module, "EXPECTS", None)
    return found


def unexpected(view: str, images: Sequence[Named], *, all_seen: bool = True) -> str | None:
    """Return why images do not go into a view, or None.

    Parameters
    ----------
    view : str
    images : sequence of (name, (width, height, channels))
        As they would lie in the view.
    all_seen : bool
        Whether these are all images; if not, only what they say whatever the others are counts.
    """
    expects = expected_by(view)
    problems = [] if expects is None else (expects if all_seen else expects.of_each).problems(images)
    if expects is None or not problems:
        return None
    known = {name: expected_by(name) for name in VIEWS}
    fitting = [name for name, one in known.items() if one is not None and not one.problems(images)]
    fit = f"Views that fit: {', '.join(fitting)}; any" if fitting else "Any"
    instead = f"{fit} images go into {', '.join(name for name, one in known.items() if one is None)}."
    return refusal(f"The view {view}", expects, problems, instead)


def refuse_other_images(view: str, images: Sequence[Named], *, all_seen: bool = True) -> None:
    """Raise `BuildError` for images that the loaders of a view do not expect."""
    problem = unexpected(view, images, all_seen=all_seen)
    if problem is not None:
        raise BuildError(f"{problem} Nothing was written.")
