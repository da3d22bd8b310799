"""Super-categories: classes of a source put together, of each of which a selection takes so many samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...canonical import canonical_sha256
from ...errors import RecipeError, SourceError, listed, suggest
from ...files import read_text, reason
from ...manifests.records.models import ClassRecord
from ...toml import parse_toml

SHIPPED = ("fragile-imagenet",)
"""Files that come with the package: their names stand for them."""


@dataclass(frozen=True)
class SuperCategories:
    """Which class is in which super-category, and how many samples are taken of each."""

    images: int
    category_of: Mapping[str, str]
    """Class folder, or class name -> super-category."""

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest says of them: never a path."""
        names = sorted(set(self.category_of.values()))
        return {"categories": names, "images": self.images, "sha256": canonical_sha256([self.images, dict(self.category_of)])}

    def by_label(self, classes: Sequence[ClassRecord]) -> dict[int, str]:
        """Return class index -> super-category.

        Raises
        ------
        SourceError
            Classes are named that the source does not have.
        """
        known = {c.name: c.index for c in classes} | {c.folder: c.index for c in classes}
        absent = [f"{name} ({category})" for name, category in self.category_of.items() if name not in known]
        if absent:
            raise SourceError(
                f"--per-super-category names {len(absent)} classes that the source does not have:\n{listed(absent, 10)}\n"
                "Expected its class folders (of ImageNet the wnids) or class names."
            )
        return {known[name]: category for name, category in self.category_of.items()}


def read_super_categories(given: str | Path) -> SuperCategories:
    """Return the super-categories of a file, or of one that comes with the package, by its name.

    Parameters
    ----------
    given : str or Path
        A TOML file: ``images``, how many of each; ``[categories]``, lists of class folders or names.

    Raises
    ------
    SourceError
        There is no such file, or it has mistakes: all of them are listed.
    """
    if isinstance(given, str) and given in SHIPPED:
        text = (files(__package__) / f"{given}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = read_text(Path(given).expanduser())
        except OSError as e:
            raise SourceError(
                f"The super-categories {given} cannot be read: {reason(e)}.{suggest(str(given), SHIPPED)} Expected a TOML file, or one of "
                f"those that come with corruptset: {', '.join(SHIPPED)}."
            ) from None
    try:
        data = parse_toml(text, f"The file of super-categories {given}")
    except RecipeError as e:
        raise SourceError(str(e)) from None
    if problems := _problems(data):
        raise SourceError(f"The file of super-categories {given} has mistakes:\n{listed(problems)}")
    return SuperCategories(data["images"], {name: category for category, names in data["categories"].items() for name in names})


def _problems(data: Mapping[str, Any]) -> list[str]:
    problems = [f"{key}: there is no such key; known are images and categories" for key in data if key not in ("images", "categories")]
    images, categories = data.get("images"), data.get("categories")
    if not isinstance(images, int) or isinstance(images, bool) or images < 1:
        problems.append(f"images is {images!r}; expected how many of each super-category, at least 1")
    if not isinstance(categories, dict) or not categories:
        return [*problems, f"categories is {categories!r}; expected a table of lists of classes"]
    for category, names in categories.items():
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            problems.append(f"categories, {category} is {names!r}; expected a list of class folders or names")
    times = Counter(name for names in categories.values() if isinstance(names, list) for name in names if isinstance(name, str))
    return problems + [f"the class {name!r} stands in it {count} times" for name, count in times.items() if count > 1]
