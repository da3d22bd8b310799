"""The two weights of an installation: what evaluates data sets, and, with the extra ``build``, what makes them."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import CorruptsetError

BUILD = ("numba", "cv2", "scipy", "skimage", "joblib")
"""What the extra ``build`` brings."""


class NotInstalled(CorruptsetError, ImportError):
    """What makes images is asked of an installation without the extra ``build``."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not installed, and this needs it: pip install 'corruptset[build]'. Without that extra "
            "corruptset opens, verifies, "
            "fetches, unpacks, exports and scores data sets, and makes none."
        )


def not_installed(error: BaseException) -> NotInstalled | None:
    """Return what is said of a failed import of something that the extra ``build`` brings; None for all else,
    half-installed ones too.
    """
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return NotInstalled(name) if name in BUILD and find_spec(name) is None else None


def require_build() -> None:
    """Raise `NotInstalled` where the extra ``build`` is not installed."""
    for name in BUILD:
        if find_spec(name) is None:
            raise NotInstalled(name)
