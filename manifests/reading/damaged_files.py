"""Errors of files that cannot be read as the records say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import VerificationError


def damaged(path: Path, why: str) -> VerificationError:
    """Return the error that names a damaged file and the next step."""
    return VerificationError(f"{path} {why}. Run `corruptset verify` on the data set for everything that is wrong.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file raises into one error that names it and the next step."""
    try:
        yield
    except FileNotFoundError as e:
        raise damaged(path, "is missing") from e
    # NotAPicture, NotAShard, and what h5py raises on damaged files
    except (OSError, KeyError, ValueError, RuntimeError, IndexError) as e:
        raise damaged(path, f"cannot be read ({e})") from e
