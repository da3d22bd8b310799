"""corruptset: static corrupted image benchmark sets.

The public names are loaded when they are first used, so that ``import corruptset`` costs nothing:
`corrupt` (one image or batch), `plan` and `build` (a recipe applied to a source), `pairs` (a recipe of two-factor
sets), `open` (read a build back), `verify` (check one), `rebuild` (make one again from its records and its source),
`load_surrogate` (a model of one's own, for sets that follow its gradient) and `predict` (what a model says of a data set).
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing's own would be the larger part of what an import costs, and of the time before the command hears Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from .corruptions.call import corrupt
    from .generate.again.rebuild import rebuild
    from .generate.again.rederive import verify
    from .generate.build import build
    from .generate.commit.abandon import abandon
    from .generate.plan.plan import plan
    from .generate.recipes.two_factor import pairs
    from .manifests.reader import open
    from .models.surrogate import load_surrogate
    from .scores.predict import predict

__all__ = ["__version__", "abandon", "build", "corrupt", "load_surrogate", "open", "pairs", "plan", "predict", "rebuild", "verify"]

_HOMES = {
    "abandon": "generate.commit.abandon",
    "corrupt": "corruptions.call",
    "load_surrogate": "models.surrogate",
    "build": "generate.build",
    "pairs": "generate.recipes.two_factor",
    "plan": "generate.plan.plan",
    "rebuild": "generate.again.rebuild",
    "predict": "scores.predict",
    "verify": "generate.again.rederive",
    "open": "manifests.reader",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("corruptset")
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
