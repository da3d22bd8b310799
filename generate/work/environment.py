"""The versions of the libraries with which the images of a dataset were made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version

LIBRARIES = ("corruptset", "numpy", "numba", "opencv-python-headless", "pillow", "scipy", "scikit-image", "h5py")
_SEPARATOR = ", "


@cache
def environment() -> Mapping[str, str]:
    """Return a mapping from libraries to their installed versions. It is cached, because reading versions is slow."""
    return {name: version(name) for name in LIBRARIES}


def joined_versions(environments: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Combine mappings from libraries to versions into one. Different versions of a library are separated by commas.

    Examples
    --------
    >>> joined_versions([{"numpy": "2.4.6", "pillow": "13.0.0"}, {"numpy": "2.4.6", "pillow": "12.0.0, 12.1.0"}])
    {'numpy': '2.4.6', 'pillow': '12.0.0, 12.1.0, 13.0.0'}
    """
    found: dict[str, set[str]] = {}
    for record in environments:
        for library, versions in record.items():
            found.setdefault(library, set()).update(versions.split(_SEPARATOR))
    return {library: _SEPARATOR.join(sorted(versions)) for library, versions in found.items()}


def version_notes(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note if parts of the dataset were made with different versions of a library, or an empty tuple."""
    several = [f"{library} {versions}" for library, versions in environment.items() if _SEPARATOR in versions]
    if not several:
        return ()
    return (
        f"The parts of this dataset were made with different library versions: {'; '.join(several)}. The manifest "
        "lists all of them.",
    )
