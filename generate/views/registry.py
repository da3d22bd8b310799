"""The views there are: one line each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import BuildError, suggest
from .layout import Layout, Subject, ViewOptions


@dataclass(frozen=True)
class View:
    """A registered view: the module that has ``layout(subject, options)``, and one line of help."""

    module: str
    about: str
    buildable: bool = False
    """Whether ``build --view`` can write images straight into it."""


VIEWS: Mapping[str, View] = {
    "cifar-c": View("cifar_c", "CIFAR-10-C/<corruption>.npy and labels.npy, five severities stacked", True),
    "imagenet-c": View("imagenet_c", "ImageNet-C/<corruption>/<severity>/<class>/<image>", True),
    "imagenet-c-5k": View("imagenet_c_5k", "the same for the images of a list (--list), no class folder empty"),
    "tiny-imagenet-c": View("tiny_imagenet_c", "Tiny-ImageNet-C/<corruption>/<severity>/<class>/<image>", True),
    "mnist-c": View("mnist_c", "mnist_c/<corruption>/{train,test}_{images,labels}.npy, clean as identity", True),
    "webdataset": View("webdataset", "tar shards for webdataset and Hugging Face: <set>/000000.tar"),
    "imagefolder": View("imagefolder", "images and metadata.jsonl, Hugging Face's imagefolder", True),
    "openood": View("openood", "images, and a list of 'path label' for every set", True),
    "croissant": View("croissant", "a tar for every set, described by croissant.json (Croissant 1.0)"),
}


def make_layout(name: str, subject: Subject, options: ViewOptions) -> Layout:
    """Return where a view puts every image.

    Raises
    ------
    BuildError
        There is no such view, or this data set does not fit into it; lists everything that does not.
    """
    module = importlib.import_module(f".{get_view(name).module}", __package__)
    options.refuse_unused(name, module.TAKES)
    found: Layout = module.layout(subject, options)
    return found


def get_view(name: str) -> View:
    """Return a view by name.

    Raises
    ------
    BuildError
        There is no such view.
    """
    if name not in VIEWS:
        known = "".join(f"\n  {view}: {v.about}" for view, v in VIEWS.items())
        raise BuildError(f"{name!r} is not a view.{suggest(name, VIEWS)} Known views:{known}")
    return VIEWS[name]
