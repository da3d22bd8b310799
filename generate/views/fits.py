"""Which sets and images go into a view, and what does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...errors import BuildError
from ..recipes.expectations import Named, refusal
from ..recipes.set_spec import SetSpec
from ..sources.folder import kept_suffix
from .contents import Contents, ViewOptions, ViewSet, refuse
from .layouts import LAYOUTS, Layout
from .texts import members, paths

if TYPE_CHECKING:
    from .view import View

_Set = TypeVar("_Set", SetSpec, ViewSet)


def placed(layout: Layout, sets: Sequence[_Set], named: Collection[str] = ()) -> list[_Set]:
    """Return the sets that go into a view, without clean where it has no place.

    It goes in where it is named, or where there is no other.
    """
    if layout.takes_clean:
        return list(sets)
    return [one for one in sets if one.stages or not set(named).isdisjoint(one.names)] or list(sets)


def unexpected(layout: Layout, images: Sequence[Named], *, all_seen: bool = True) -> str | None:
    """Return why images do not go into a view, and which views fit; or None.

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
    fitting = [
        name for name, other in LAYOUTS.items() if other.expects is not None and not other.expects.problems(images)
    ]
    fit = f"Views that fit: {', '.join(fitting)}; any" if fitting else "Any"
    instead = f"{fit} images go into {', '.join(name for name, other in LAYOUTS.items() if other.expects is None)}."
    return refusal(f"The view {layout.name}", layout.expects, problems, instead)


def refuse_unused(layout: Layout, contents: Contents, options: ViewOptions) -> None:
    """Raise `BuildError` for options that a view has no use for, and for missing labels."""
    flags = {
        "--severities": options.severities and layout.names not in ("severities", "one"),
        "--list": options.images and not layout.listed,
        "--allow-missing-classes": options.allow_missing_classes and not layout.numbers_classes,
    }
    if unused := ", ".join(flag for flag, extra in flags.items() if extra):
        raise BuildError(f"The view {layout.name} does not take {unused}. Leave it out.")
    if layout.labelled and not contents.classes:
        raise BuildError(f"The view {layout.name} has a place for labels, and these images have none. Use source-tree.")


def refuse_misfits(view: View) -> None:
    """Raise `BuildError` for samples and names that a layout has no place for."""
    layout, samples, classes = view.layout, view.contents.samples, view.contents.classes
    problems: list[str] = []
    if layout.splits:
        known = " and ".join(layout.splits)
        strange = {s.split for s in samples} - {None, *layout.splits}
        problems += [
            f"split {split!r}: the view has {known}. Choose another view" for split in sorted(map(str, strange))
        ]
    if layout.own_names:
        other = [s.path for s in samples if s.path and not kept_suffix(s.path)]
        problems += [
            f"{path}: its suffix is neither that of a JPEG nor .png, and images keep their names there"
            for path in other
        ]
    if not layout.blanks:
        blank = [s.id for s in samples if " " in s.id or " " in classes[s.class_index].folder]
        problems += [f"{i}: has a blank in its path, and the lists separate path and label by a blank" for i in blank]
    for text in layout.beside:
        most = max((s.class_index for s in samples), default=0) if text.labels else 0
        if text.labels and most > (top := np.iinfo(text.labels).max):
            problems.append(f"label {most}: {text.path.rpartition('/')[2]} is {text.labels}, 0 to {top}")
    refuse(layout.name, problems, "Mend the source and build again, or choose another view, such as webdataset.")
    own = layout is not LAYOUTS.get(layout.name)
    if own or layout.container == "arrays":
        files = Counter(path.casefold() for path in paths(view))
        for images in view.slices if layout.container == "tars" else ():
            files.update(
                f"{images.path}/{name}".casefold()
                for index in images.samples
                for name, _ in members(view, images, index)
            )
        twice = [
            f"{path}: two images, or an image and a text, would lie there" for path, count in files.items() if count > 1
        ]
        then = (
            "Put more words into its place, image or path, such as {set} or {index}."
            if own
            else "Name the set otherwise (--severities)."
        )
        refuse(layout.name, twice, then)
