"""corruptset: static corrupted image benchmarks.

`names` and `recipes` list the corruptions and recipes, and `show` describes one of them. `corrupt` corrupts an image or
a batch, and `Corrupt` does the same as a callable for data loaders. `load_plugin` loads corruptions that you define,
and `check_corruption` checks them. `load_surrogate` loads a model whose gradients a corruption needs. `preview` shows
one image in every set of a recipe.

`plan` and `build` apply a recipe to a source, and `pairs` makes a recipe of two-factor sets. `open` reads a dataset,
and `verify` checks it. `rebuild` restores a dataset from its records and its source. `page` writes the HTML page of a
dataset, and `export` writes a dataset in the layout of a loader. `audit` reports what any corrupted dataset contains.
`pack` writes the archives of a release, and `unpack` reads them. `publish` uploads a release, and `fetch` downloads
one.

`predict` writes the predictions of a model. `score` computes published robustness scores from predictions, and
`score_table` computes such scores from any metric. `compare` compares models, and `report` writes a page that compares
them.

Each name is loaded when it is first used, so ``import corruptset`` is fast. The types are in `__init__.pyi`.
"""

from __future__ import annotations

import importlib

_MODULES = {
    "audit": "audits.audit",
    "build": "generate.build",
    "check_corruption": "generate.contract",
    "compare": "scores.compare",
    "Corrupt": "corruptions.transforms",
    "corrupt": "corruptions.call",
    "export": "generate.exports.export",
    "fetch": "manifests.distribution.fetch",
    "load_plugin": "corruptions.plugins",
    "load_surrogate": "corruptions.models.surrogate",
    "names": "generate.catalogue",
    "open": "generate.reproduction.open_dataset",
    "pack": "manifests.release.pack",
    "page": "generate.reproduction.page",
    "pairs": "generate.recipes.two_factor",
    "plan": "generate.planning",
    "predict": "scores.predict",
    "preview": "generate.preview",
    "publish": "manifests.distribution.publish",
    "rebuild": "generate.reproduction.rebuild",
    "recipes": "generate.catalogue",
    "report": "scores.report",
    "score": "scores.score",
    "score_table": "scores.score_table",
    "show": "generate.show",
    "unpack": "manifests.release.unpack",
    "verify": "generate.reproduction.verify",
}
"""The module that defines each public name."""
__all__ = sorted(["__version__", *_MODULES])


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("corruptset")
    if name == "errors":
        return importlib.import_module(".errors", __name__)
    if name not in _MODULES:
        hint = importlib.import_module(".corruptions.add_ons", __name__).install_hint(name.replace("_", "-"))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{'.' * bool(hint)}{hint}")
    module = _MODULES[name]
    if not module.startswith("corruptions."):  # Functions in all other packages take file names.
        from .errors import require_utf8_names

        require_utf8_names()
    try:
        return getattr(importlib.import_module(f".{module}", __name__), name)
    except ModuleNotFoundError as e:  # The error names the extra that installs the missing module.
        from .errors import not_installed

        raise not_installed(e) or e from None


def __dir__() -> list[str]:
    return __all__
