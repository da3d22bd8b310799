"""corruptset: static corrupted image benchmark sets.

The public names are loaded when they are first used, so that ``import corruptset`` costs nothing:
`corrupt` (one image or batch), `plan` and `build` (a recipe applied to a source), `pairs` (a recipe of two-factor
sets), `open` (read a build back), `verify` (check one), `rebuild` (make one again from its records and its source),
`load_surrogate` (a model of one's own, for sets that follow its gradient), `predict` (what a model says of a data set), `score` (from
predictions to the papers' numbers), `compare` (models side by side), `report` (the same as a page with pictures), `pairs_sheet` and
`pairs_score` (a small study with people, and what their answers come to).
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
    from .scores.compare import compare
    from .scores.pairs.pairs_score import pairs_score
    from .scores.pairs.sheet import pairs_sheet
    from .scores.predict import predict
    from .scores.report import report
    from .scores.score import score

__all__ = [
    "__version__",
    "abandon",
    "build",
    "compare",
    "corrupt",
    "load_surrogate",
    "open",
    "pairs",
    "pairs_score",
    "pairs_sheet",
    "plan",
    "predict",
    "rebuild",
    "report",
    "score",
    "verify",
]

_HOMES = {
    "abandon": "generate.commit.abandon",
    "corrupt": "corruptions.call",
    "load_surrogate": "models.surrogate",
    "build": "generate.build",
    "pairs": "generate.recipes.two_factor",
    "plan": "generate.plan.plan",
    "rebuild": "generate.again.rebuild",
    "compare": "scores.compare",
    "pairs_score": "scores.pairs.pairs_score",
    "pairs_sheet": "scores.pairs.sheet",
    "predict": "scores.predict",
    "report": "scores.report",
    "score": "scores.score",
    "verify": "generate.again.rederive",
    "open": "manifests.reader",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("corruptset")
    if name in _HOMES:
        found = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        return _joined(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_TAKEN = {"score": ("corruptions.level_words", "describe_level"), "open": ("generate.again.virtual", "open_virtual")}
"""What functions take of rooms that they must not know: what a level of a degradation does, in words; images that are made again."""


def _joined(name: str, function: Any) -> Any:
    """Return a public function with what it takes of another room, which is loaded when it is called."""
    if name not in _TAKEN:
        return function
    from functools import partial, update_wrapper

    home, taken = _TAKEN[name]

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f".{home}", __name__), taken)(*arguments, **options)

    return update_wrapper(partial(function, **{taken: call}), function)


def __dir__() -> list[str]:
    return sorted(__all__)
