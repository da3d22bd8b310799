"""The views there are: one line each."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...errors import BuildError, suggest
from ..recipes.expectations import Named, refusal
from ..recipes.set_spec import SetSpec
from .layout import Layout, ViewOptions
from .subject import SetRef, Subject

_Set = TypeVar("_Set", SetSpec, SetRef)


@dataclass(frozen=True)
class View:
    """A registered view: its layout, as ``<module>.<class>``, and one line of help."""

    layout: str
    about: str
    buildable: bool = False
    """Whether ``build --view`` can write images straight into it."""
    whole_images: bool = False
    """Whether its loaders take each row or name for an image of the source, so that regions of images do not go into it."""


VIEWS: Mapping[str, View] = {
    "cifar-c": View("cifar_c.CifarC", "CIFAR-10-C/<corruption>.npy and labels.npy, five severities stacked", True, whole_images=True),
    "imagenet-c": View("imagenet_c.ImageNetC", "ImageNet-C/<corruption>/<severity>/<class>/<image>", True),
    "imagenet-c-5k": View(
        "imagenet_c_5k.ImageNetC5k", "the same for the images of a list (--list), no class folder empty", whole_images=True
    ),
    "tiny-imagenet-c": View("tiny_imagenet_c.TinyImageNetC", "Tiny-ImageNet-C/<corruption>/<severity>/<class>/<image>", True),
    "mnist-c": View("mnist_c.MnistC", "mnist_c/<corruption>/{train,test}_{images,labels}.npy, clean as identity", True, whole_images=True),
    "webdataset": View("webdataset.WebDataset", "tar shards for webdataset and Hugging Face: <set>/000000.tar"),
    "imagefolder": View("imagefolder.ImageFolder", "images and metadata.jsonl, Hugging Face's imagefolder", True),
    "openood": View("openood.OpenOOD", "images, and a list of 'path label' for every set", True),
    "flageval": View("flageval.FlagEval", "<corruption>/<severity>/<class>/<image>_g, _i, _s or _p, as FlagEval names them", True),
    "source-tree": View("source_tree.SourceTree", "images/<set>/<path in the source>, for annotation files", True, whole_images=True),
    "croissant": View("croissant.Croissant", "a tar for every set, described by croissant.json (Croissant 1.0)"),
}


def get_view(name: str) -> View:
    """Return a view by name, or raise `BuildError` where there is none."""
    if name not in VIEWS:
        known = "".join(f"\n  {view}: {v.about}" for view, v in VIEWS.items())
        raise BuildError(f"{name!r} is not a view.{suggest(name, VIEWS)} Known views:{known}")
    return VIEWS[name]


def layout_class(view: str) -> type[Layout]:
    """Return the layout of a view; its module is imported now."""
    module, _, name = get_view(view).layout.partition(".")
    layout: type[Layout] = getattr(importlib.import_module(f".{module}", __package__), name)
    return layout


def make_layout(name: str, subject: Subject, options: ViewOptions) -> Layout:
    """Return where a view puts every image.

    Raises
    ------
    BuildError
        There is no such view, or this data set does not fit into it; lists everything that does not.
    """
    layout = layout_class(name)
    if any(sample.region is not None for sample in subject.samples):
        refuse_regions(name)
    options.refuse_unused(name, layout.takes)
    if layout.labelled and not subject.classes:
        raise BuildError(f"The view {name} has a place for labels, and these images have none. Use source-tree.")
    return layout(subject, options)  # type: ignore[call-arg, arg-type]  # those of views take these two


def placed(view: str, sets: Sequence[_Set], named: Collection[str] = ()) -> list[_Set]:
    """Return the sets that go into a view: without clean where it has no place for that, unless it is named, or there is no other."""
    if layout_class(view).takes_clean:
        return list(sets)
    return [one for one in sets if one.stages or not set(named).isdisjoint(one.names)] or list(sets)


def refuse_regions(name: str) -> None:
    """Raise `BuildError` for a view that regions of images do not go into, with those that they do."""
    if get_view(name).whole_images:
        others = ", ".join(view for view, entry in VIEWS.items() if not entry.whole_images)
        raise BuildError(
            f"The view {name} is of whole images: its loaders take each row or name for an image of the source, and here the samples are "
            f"regions of images. Views that take regions: {others}."
        )


def unexpected(view: str, images: Sequence[Named], *, all_seen: bool = True) -> str | None:
    """Return why images do not go into a view, with the views that fit, or None.

    Parameters
    ----------
    view : str
    images : sequence of (name, (width, height, channels))
        As they would lie in the view.
    all_seen : bool
        Whether these are all images.
    """
    expects = layout_class(view).expects
    problems = [] if expects is None else expects.problems(images, all_seen=all_seen)
    if expects is None or not problems:
        return None
    known = {name: layout_class(name).expects for name in VIEWS}
    fitting = [name for name, other in known.items() if other is not None and not other.problems(images)]
    fit = f"Views that fit: {', '.join(fitting)}; any" if fitting else "Any"
    instead = f"{fit} images go into {', '.join(name for name, other in known.items() if other is None)}."
    return refusal(f"The view {view}", expects, problems, instead)
