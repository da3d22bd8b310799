"""Super-categories, which are groups of classes. A selection can take the same number of samples from each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ...canonical import canonical_sha256
from ...error_lines import error_lines
from ...errors import RecipeError, SourceError, format_list, suggest
from ...files import parse_toml, read_text, reason
from ...manifests.records.models import ClassRecord

SHIPPED = ("fragile-imagenet",)
"""Names of the files that are installed with the package."""
ClassNames = Annotated[list[str], Field(min_length=1)]


class SuperCategories(BaseModel):
    """The classes of each super-category, and the number of samples to take from each super-category."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    images: int = Field(ge=1)
    categories: dict[str, ClassNames] = Field(min_length=1)
    """The class folders or class names of each super-category."""

    @field_validator("categories")
    @classmethod
    def _unique_classes(cls, categories: dict[str, list[str]]) -> dict[str, list[str]]:
        times = Counter(name for names in categories.values() for name in names)
        if twice := [f"the class {name!r} occurs {count} times" for name, count in times.items() if count > 1]:
            raise ValueError("; ".join(twice))
        return categories

    @property
    def category_of(self) -> Mapping[str, str]:
        """The super-category of each class, by class folder or class name."""
        return {name: category for category, names in self.categories.items() for name in names}

    @property
    def record(self) -> dict[str, Any]:
        """The record of the categories in a manifest. It does not contain the path of the file that defines them."""
        digest = canonical_sha256([self.images, self.category_of])
        return {"categories": sorted(self.categories), "images": self.images, "sha256": digest}

    def by_label(self, classes: Sequence[ClassRecord]) -> dict[int, str]:
        """Return a mapping from class indices to super-categories.

        Raises
        ------
        SourceError
            The source does not have some of the classes.
        """
        known = {c.name: c.index for c in classes} | {c.folder: c.index for c in classes}
        absent = [f"{name} ({category})" for name, category in self.category_of.items() if name not in known]
        if absent:
            raise SourceError(
                f"--per-super-category names {len(absent)} classes that the source does not "
                f"have:\n{format_list(absent, 10)}\n"
                "Expected its class folders (of ImageNet the wnids) or class names."
            )
        return {known[name]: category for name, category in self.category_of.items()}


def read_super_categories(given: str | Path) -> SuperCategories:
    """Read super-categories from a file. A shipped file is given by its name.

    Parameters
    ----------
    given : str or Path
        The path of a TOML file, or the name of a shipped file. The file contains ``images``, the number of samples per
        super-category, and the table ``[categories]`` with lists of class folders or class names.

    Raises
    ------
    SourceError
        The file does not exist or contains errors. The message lists all errors.
    """
    where = f"The file of super-categories {given}"
    try:
        if given in SHIPPED:
            text = (files(__package__) / f"{given}.toml").read_text(encoding="utf-8")
        else:
            text = read_text(Path(given).expanduser())
        return SuperCategories.model_validate(parse_toml(text, where))
    except OSError as e:
        raise SourceError(
            f"The super-categories {given} cannot be read: {reason(e)}.{suggest(str(given), SHIPPED)} Expected a "
            f"TOML file, or one of the shipped ones: {', '.join(SHIPPED)}."
        ) from None
    except RecipeError as e:
        raise SourceError(str(e)) from None
    except ValidationError as e:
        lines = format_list(error_lines(e))
        raise SourceError(f"{where} contains errors:\n{lines}") from None
