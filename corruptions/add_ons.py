"""Entry points of installed add-on packages: corruptions, recipes, tables, sources, exports and commands.

A package declares its entry points in its pyproject.toml. Its code is imported only when one of these entry points is
used.

==========================  =====================================================================
group of entry points       an entry refers to
==========================  =====================================================================
``corruptset.corruptions``  a module whose import registers corruptions
``corruptset.recipes``      a package with recipes, ``<name>.toml``
``corruptset.tables``       a package with calibrations, ``<name>.toml``
``corruptset.sources``      a function that opens a source (entry name: the word before the colon)
``corruptset.exports``      a function that writes an export (entry name: the name of the layout)
``corruptset.commands``     a function of the command line (entry name: the name of the command)
==========================  =====================================================================
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from ..errors import CorruptsetError, CorruptsetWarning, PluginError, install_add_on
from ..foreign import ForeignCode, describe_error

_A = TypeVar("_A")
_B = TypeVar("_B")

_MEDMNIST = "blood breast chest derma oct organa organc organs path pneumonia retina tissue".split()

ADD_ONS = {
    "corruptset-cbar": (
        "imagenet-c-bar cifar10-c-bar blue_noise_sample brownish_noise caustic_refraction checkerboard_cutout "
        "circular_motion_blur cocentric_sine_waves inverse_sparkles lines perlin_noise pinch_and_twirl plasma_noise "
        "ripple single_frequency_greyscale sparkles transverse_chromatic_abberation"
    ).split(),
    "corruptset-streams": ["stream", "schedule", "ccc-easy", "ccc-medium", "ccc-hard"],
    "corruptset-pairs": ["pairs-sheet", "pairs-score"],
    "corruptset-calibrate": ["calibrate", "imagenet-512", "imagenet-96"],
    "corruptset-3dcc": ["iso_noise", "low_light", "color_quant"],
    "corruptset-medmnist": [
        "medmnist",
        "medmnist-c",
        "medmnist-score",
        *(f"{dataset}mnist{end}" for end in ("", "-c") for dataset in _MEDMNIST),
        *(
            "added_saturation black_corner brightness_down brightness_up bubble characters contrast_down contrast_up "
            "gamma_corr_down gamma_corr_up rgb_gaussian_noise rgb_impulse_noise rgb_shot_noise rgb_speckle_noise "
            "stain_deposit windowed_gaussian_blur"
        ).split(),
    ],
}
"""The names that each add-on package of this project provides, for error messages that name the package to install."""


Kind = Literal["corruptions", "recipes", "tables", "sources", "exports", "commands"]


@functools.cache
def find_add_ons(kind: Kind) -> dict[str, EntryPoint]:
    """Return the installed entry points of one kind by name."""
    return {
        entry.name: entry for entry in sorted(entry_points(group=f"corruptset.{kind}"), key=lambda entry: entry.name)
    }


@functools.cache
def installed_files(kind: Literal["recipes", "tables"]) -> dict[str, Traversable]:
    """Return the recipes or tables of all installed packages by name."""
    folders = load_each(_folder, find_add_ons(kind).values())
    return {f.name.removesuffix(".toml"): f for folder in folders for f in folder.iterdir() if f.name.endswith(".toml")}


def _folder(entry: EntryPoint) -> Traversable:
    # The folder is found by its path, because an import may load numba. In an editable installation, the folder can be
    # elsewhere, so the package is then imported.
    folder = Path(str(entry.dist.locate_file(entry.module.replace(".", "/")) if entry.dist else ""))
    try:
        return folder if folder.is_dir() else files(entry.module)
    except Exception as e:  # The code of another package can raise any exception.
        raise cannot_load(entry, e) from None


def cannot_load(entry: EntryPoint, error: Exception) -> PluginError:
    """Return the error for an entry point that cannot be loaded."""
    package = f"The package {entry.dist.name}" if entry.dist else "A package"
    return PluginError(
        f"{package}: {entry.name} = {entry.value} ({entry.group}) cannot be loaded: {describe_error(error)}."
    )


def installed_function(kind: Literal["sources", "exports"], name: str) -> Callable[..., Any] | None:
    """Return the function of an entry point, or None if no installed package has an entry point with this name.

    Raises
    ------
    PluginError
        If the function cannot be imported.
    """
    entry = find_add_ons(kind).get(name)
    if entry is None:
        return None
    try:
        with ForeignCode():
            return cast(Callable[..., Any], entry.load())
    except Exception as e:  # The code of another package can raise any exception.
        raise cannot_load(entry, e) from None


def load_each(load: Callable[[_A], _B], items: Iterable[_A]) -> list[_B]:
    """Load items from add-ons, and leave out items that cannot be loaded, with a warning for each."""
    loaded = []
    for item in items:
        try:
            loaded.append(load(item))
        except (CorruptsetError, ValueError) as e:
            warnings.warn(str(e), CorruptsetWarning, stacklevel=3)
    return loaded


def install_hint(name: object) -> str:
    """Return a sentence on how to install the add-on package that provides a corruption, recipe, table or command.

    The result is empty for a name that no add-on package of this project provides.
    """
    package = next((package for package, names in ADD_ONS.items() if name in names), None)
    purpose = f"is the recipe of a stream, for `corruptset stream {name}`, and " * str(name).startswith("ccc-")
    return f" It {purpose}comes with the package {package}. {install_add_on(package)}" if package else ""
