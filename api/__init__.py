"""corruptset: static corrupted image benchmark sets.

The public names are loaded when they are first used, so that ``import corruptset`` costs nothing:
`names`, `recipes` and `show` (what there is), `corrupt` (one image or batch), `Corrupt` (the same as a
callable for data loaders), `load_plugin` and `check_corruption` (corruptions of one's own), `preview` (one
picture under every set), `plan` and `build` (a recipe applied to a source), `pairs` (a recipe of two-factor sets),
`open` (read a build back), `verify` (check one), `audit` (say what a corrupted dataset contains), `rebuild` (make one
again from its records and its source), `page`
(its page), `export` (a loader's layout), `pack` and `unpack` (archives), `publish` and `fetch` (releases on the
network), `load_surrogate` (a model of one's own, for sets that follow its gradient), `predict` (what a model says of a
data set), `score` (from predictions to the papers' numbers), `compare` (models side by side), `report` (the same as a
page with pictures).
"""

from __future__ import annotations

import importlib

# typing's own would be the larger part of what an import costs, and of the time before the command hears Ctrl-C
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import errors as errors
    from .audits.audit import audit as audit
    from .corruptions.call import corrupt as corrupt
    from .corruptions.models.surrogate import load_surrogate as load_surrogate
    from .corruptions.plugins import load_plugin as load_plugin
    from .corruptions.transforms import Corrupt as Corrupt
    from .generate.build import build as build
    from .generate.catalogue import names as names
    from .generate.catalogue import recipes as recipes
    from .generate.contract import check_corruption as check_corruption
    from .generate.exports.export import export as export
    from .generate.planning import plan as plan
    from .generate.preview import preview as preview
    from .generate.recipes.two_factor import pairs as pairs
    from .generate.reproduction.page import page as page
    from .generate.reproduction.rebuild import rebuild as rebuild
    from .generate.reproduction.verify import verify as verify
    from .generate.show import show as show
    from .manifests.distribution.fetch import fetch as fetch
    from .manifests.distribution.publish import publish as publish
    from .manifests.reader import open as open
    from .manifests.release.pack import pack as pack
    from .manifests.release.unpack import unpack as unpack
    from .scores.compare import compare as compare
    from .scores.predict import predict as predict
    from .scores.report import report as report
    from .scores.score import score as score
    from .scores.score_table import score_table as score_table

    __version__: str

_HOMES = {
    "Corrupt": "corruptions.transforms",
    "audit": "audits.audit",
    "check_corruption": "generate.contract",
    "corrupt": "corruptions.call",
    "load_plugin": "corruptions.plugins",
    "load_surrogate": "corruptions.models.surrogate",
    "build": "generate.build",
    "export": "generate.exports.export",
    "fetch": "manifests.distribution.fetch",
    "publish": "manifests.distribution.publish",
    "names": "generate.catalogue",
    "pack": "manifests.release.pack",
    "page": "generate.reproduction.page",
    "preview": "generate.preview",
    "recipes": "generate.catalogue",
    "show": "generate.show",
    "unpack": "manifests.release.unpack",
    "pairs": "generate.recipes.two_factor",
    "plan": "generate.planning",
    "rebuild": "generate.reproduction.rebuild",
    "compare": "scores.compare",
    "predict": "scores.predict",
    "report": "scores.report",
    "score": "scores.score",
    "score_table": "scores.score_table",
    "verify": "generate.reproduction.verify",
    "open": "manifests.reader",
}
__all__ = sorted(["__version__", *_HOMES])

_SUPPLIED = {
    "open": {"family_of": "corruptions.registry", "open_virtual": "generate.reproduction.virtual"},
    "pack": {"family_of": "corruptions.registry"},
    "score": {"describe_level": "corruptions.gradual"},
}
"""Function -> what it takes of rooms that its own must not know: keywords, which are names of functions too, and where
those are.
"""


if not TYPE_CHECKING:  # else every misspelt name would pass as Any

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("corruptset")
        if name == "errors":
            return importlib.import_module(".errors", __name__)
        if name in _HOMES:
            found = _found(_HOMES[name], name)
            return _supply(found, _SUPPLIED[name]) if name in _SUPPLIED else found
        where = importlib.import_module(".corruptions.add_ons", __name__).where_to_get(name.replace("_", "-"))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{'.' * bool(where)}{where}")


def _found(home: str, name: str) -> Any:
    """Return a name of a room.

    What is missing raises an error that names the extra of the installation that has it.
    """
    if not home.startswith("corruptions."):  # those take arrays; all others, files by name
        from .errors import require_utf8_names

        require_utf8_names()
    try:
        return getattr(importlib.import_module(f".{home}", __name__), name)
    except ModuleNotFoundError as e:
        from .errors import not_installed

        raise not_installed(e) or e from None


class _Later:
    """A function of another room, imported when it is first called; it may be pickled."""

    def __init__(self, home: str, name: str) -> None:
        self.home, self.name = home, name

    def __call__(self, *given: Any, **options: Any) -> Any:
        return _found(self.home, self.name)(*given, **options)


def _supply(function: Any, homes: dict[str, str]) -> Any:
    """Return `function` with some arguments given, which its signature then leaves out."""
    from functools import partial, update_wrapper
    from inspect import signature

    supplied: Any = update_wrapper(
        partial(function, **{name: _Later(home, name) for name, home in homes.items()}), function
    )
    own = signature(function)
    supplied.__signature__ = own.replace(parameters=[p for p in own.parameters.values() if p.name not in homes])
    return supplied


def __dir__() -> list[str]:
    return __all__
