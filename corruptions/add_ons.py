"""Packages installed beside corruptset: their corruptions, recipes, tables and commands, found by entry points.

A package names what it has in its pyproject.toml. None of its code is imported before something of it is asked for.

==========================  =====================================================================
entry points of the group   an entry names
==========================  =====================================================================
``corruptset.corruptions``  a module whose import registers corruptions
``corruptset.recipes``      a package with recipes, ``<name>.toml``
``corruptset.tables``       a package with calibrations, ``<name>.toml``
``corruptset.commands``     a function of the command line; the entry's name is the command's
==========================  =====================================================================
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from ..errors import PluginError

OURS = {
    "corruptset-cbar": (
        "imagenet-c-bar cifar10-c-bar blue_noise_sample brownish_noise caustic_refraction checkerboard_cutout "
        "circular_motion_blur cocentric_sine_waves inverse_sparkles lines perlin_noise pinch_and_twirl plasma_noise "
        "ripple single_frequency_greyscale sparkles transverse_chromatic_abberation"
    ).split(),
    "corruptset-streams": ["stream", "schedule", "ccc-easy", "ccc-medium", "ccc-hard"],
    "corruptset-pairs": ["pairs-sheet", "pairs-score"],
    "corruptset-calibrate": ["calibrate", "imagenet-512", "imagenet-96"],
}
"""What the packages of this project that are installed apart have: for an error that names the one to install."""


@functools.cache
def installed(kind: Literal["corruptions", "recipes", "tables", "commands"]) -> dict[str, EntryPoint]:
    """Return the entry points of one kind, by name."""
    return {
        entry.name: entry for entry in sorted(entry_points(group=f"corruptset.{kind}"), key=lambda entry: entry.name)
    }


@functools.cache
def installed_files(kind: Literal["recipes", "tables"]) -> dict[str, Traversable]:
    """Return the recipes or tables of all packages, by name.

    Raises
    ------
    PluginError
        The package that an entry point names cannot be imported.
    """
    found: dict[str, Traversable] = {}
    for entry in installed(kind).values():
        # Found beside its package without an import, which may load numba; an editable installation has it elsewhere
        folder: Traversable = Path(str(entry.dist.locate_file(entry.module.replace(".", "/")) if entry.dist else ""))
        if not folder.is_dir():
            try:
                folder = files(entry.module)
            except Exception as e:  # whatever somebody else's package raises
                raise PluginError(f"The {kind} of {entry.value} cannot be read: {type(e).__name__}: {e}.") from None
        found |= {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
    return found


def where_to_get(name: object) -> str:
    """Return the sentence that names the package with a corruption, recipe, table or command.

    Empty for all other names.
    """
    package = next((package for package, names in OURS.items() if name in names), None)
    return f" It comes with the package {package}: `pip install {package}`." if package else ""
