"""Layouts as data: where images go, what they are called, which texts stand beside them.

`layouts.toml` has those of the loaders.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from ...error_lines import mistake_lines
from ...errors import BuildError, RecipeError, mistakes, suggest
from ...files import parse_toml, read_text, reason
from ...manifests.records.fields import safe_path
from ..recipes.expectations import Expects
from ..recipes.file_models import RecipeTable

SET_WORDS: dict[str, str | int] = {
    **{"dataset": "small-c-1.0.0", "hundred": 10, "top": "top", "archives": "0123456789ab"},
    **{"set": "fog/3", "marked_set": "fog/3", "lettered_set": "fog/3", "corruption": "fog", "severity": 3},
    **{"letter": "_g", "split": "test", "shard": 0},
}
"""The words that a place or a text's path may have in braces, each with an example."""
IMAGE_WORDS: dict[str, str | int] = SET_WORDS | {
    **{"class": "cat", "image": "a/b", "id": "cat/a/b", "label": 3, "index": 7, "number": "07", "source": "a/b.jpg"},
    **{"suffix": "JPEG", "ext": "jpg"},
}
"""Those that an image's name or its line may have."""
Column = Literal["file_name", "label", "corruption", "severity", "level", "set", "class", "id", "split", "group"]
Table = TypeVar("Table", bound=RecipeTable)
_WIDTH = re.compile(r"(0>?)?[0-9]?d?|,")


def _example(template: str, words: Mapping[str, str | int]) -> str:
    """Return what a template may make.

    ValueError for other words in it, or a use of them beyond a width.
    """
    for _, word, width, conversion in string.Formatter().parse(template):
        if word is not None and word not in words:
            raise ValueError(f"{template!r} has {{{word}}}; the words known there are {', '.join(words)}")
        if conversion or not _WIDTH.fullmatch(width or ""):
            raise ValueError(f"{template!r}: a word in braces may have a width, as in {{index:08d}}, and nothing else")
    return template.format(**words)


class Text(RecipeTable):
    """A text beside the images: lines, JSON, an array of labels, or one loader's own."""

    path: str
    line: str | None = None
    """A line for each image."""
    columns: tuple[Column, ...] | None = None
    """A line of JSON for each image, with these keys; a key that an image has nothing for is left out."""
    labels: Literal["uint8", "int64"] | None = None
    """An array of the labels of the rows of an array of images."""
    made: Literal["shards", "croissant"] | None = None
    """``shards``: the list of archives that timm reads; ``croissant``: croissant.json."""

    @model_validator(mode="after")
    def _one(self) -> Text:
        if sum(value is not None for value in (self.line, self.columns, self.labels, self.made)) != 1:
            raise ValueError("is made of one of line, columns, labels and made")
        _example(self.line or "", IMAGE_WORDS)
        return self


class Remark(RecipeTable):
    """What a user should know where a loader would read something else without a word."""

    text: str
    unless_samples: int | None = None
    unless_splits: int | None = None


class Layout(RecipeTable):
    """Where a view puts images.

    All of it is data, so that a view is checked by what wrote it.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    about: str = ""
    container: Literal["files", "arrays", "tars"]
    top: str = "{dataset}"
    """The folder that a loader is pointed at, or whose parent is."""
    place: str
    """The folder of image files, or the array or the tar, that images of a set lie in together."""
    image: str = ""
    """What an image is called in that folder or tar."""
    names: Literal["any", "severities", "one", "letters"] = "any"
    """Which sets go into it: any; those of corruptions with five severities; one a corruption; those of corruptions
    with a letter.
    """
    letters: dict[str, str] = {}
    """Corruption -> the letter that ends an image's name."""
    listed: bool = False
    """Whether it is of the images on a list."""
    numbers_classes: bool = False
    """Whether loaders number the class folders that they find, so that no class may lack one."""
    whole_images: bool = False
    """Whether its loaders take each row or name for an image of the source, so that regions of images do not go into
    it.
    """
    blanks: bool = True
    """Whether paths may have blanks."""
    splits: tuple[str, ...] = ()
    """The splits that it has places for; none is any."""
    expects: Expects | None = None
    """What images its loaders expect; None is any."""
    with_each: tuple[Text, ...] = ()
    """What stands beside each image in a tar."""
    beside: tuple[Text, ...] = ()
    """What stands beside folders, arrays and tars."""
    remarks: tuple[Remark, ...] = ()

    @model_validator(mode="after")
    def _agrees(self) -> Layout:
        top = safe_path(_example(self.top, {word: SET_WORDS[word] for word in ("dataset", "hundred")}))
        of_set, of_image = SET_WORDS | {"top": top}, IMAGE_WORDS | {"top": top}
        place, arrays = _example(self.place, of_set), self.container == "arrays"
        if arrays == bool(self.image):
            raise ValueError("image says what an image is called in a folder or tar; rows of arrays have no names")
        if arrays and not place.endswith(".npy"):
            raise ValueError(f"place is {self.place!r}; an array's name ends in .npy")
        if self.with_each and self.container != "tars":
            raise ValueError("with_each is for tars; beside is for all")
        if not arrays and any(text.labels for text in self._texts):
            raise ValueError("labels are those of arrays; others have line")
        paths = [(f"{self.place}/{self.image}" if self.image else self.place, of_image)]
        paths += [(text.path, of_set) for text in self.beside] + [(text.path, of_image) for text in self.with_each]
        for path, words in paths:
            safe_path(_example(path, words))
        for remark in self.remarks:
            _example(remark.text, {"samples": 8, "split": "test"})
        return self

    @property
    def _texts(self) -> tuple[Text, ...]:
        return (*self.with_each, *self.beside)

    @property
    def takes_clean(self) -> bool:
        """Whether the clean images go into it although nobody names them."""
        return self.names in ("any", "one")

    @property
    def buildable(self) -> bool:
        """Whether ``build --view`` can write images straight into it."""
        return self.container != "tars" and not self.listed

    @property
    def own_names(self) -> bool:
        """Whether images keep the paths of their source, and with them their formats."""
        return "{source" in self.image

    @property
    def numbered(self) -> bool:
        """Whether image files are called by their index and lie in no class folder."""
        return self.container == "files" and self.image.startswith(("{number", "{index"))

    @property
    def labelled(self) -> bool:
        """Whether it tells labels, so that images without labels do not go into it."""
        templates = " ".join([self.image, *(f"{text.path} {text.line}" for text in self._texts)])
        named = any(f"{{{word}" in templates for word in ("class", "label", "image"))
        return named or any(text.labels or text.made or text.columns for text in self._texts)


def _layouts() -> dict[str, Layout]:
    tables = parse_toml((resources.files(__package__) / "layouts.toml").read_text("utf-8"), "layouts.toml")
    return {name: Layout.model_validate({"name": name, **table}) for name, table in tables.items()}


LAYOUTS: Mapping[str, Layout] = _layouts()
"""The views there are."""


def get_layout(name: str) -> Layout:
    """Return the layout of a view; `BuildError` where there is none of that name."""
    if name not in LAYOUTS:
        known = "".join(f"\n  {view}: {layout.about}" for view, layout in LAYOUTS.items())
        raise BuildError(f"{name!r} is not a view.{suggest(name, LAYOUTS)} Known views:{known}")
    return LAYOUTS[name]


def read_layout(path: str | Path) -> Layout:
    """Return the layout of a TOML file, called by its ``name`` or as the file.

    Raises
    ------
    BuildError
        It cannot be read, or is no layout: every mistake is listed.
    """
    return _own(read_table(Layout, path, "The layout", name=Path(path).stem.lower()), f"The layout {path}")


def layout_of(values: Mapping[str, Any], where: str) -> Layout:
    """Return the layout that values are, or raise `BuildError` with every mistake."""
    return _own(_checked(Layout, values, where), where)


def _own(layout: Layout, where: str) -> Layout:
    if layout.name in LAYOUTS:
        raise BuildError(f"{where} is called {layout.name!r}, as a view of corruptset's own. Give it another name.")
    return layout


def _checked(model: type[Table], values: Mapping[str, Any], where: str) -> Table:
    try:
        return model.model_validate(values)
    except ValidationError as e:
        raise BuildError(mistakes(where, mistake_lines(e, model))) from None


def read_table(model: type[Table], path: str | Path, what: str, **defaults: Any) -> Table:
    """Return what a user's TOML file says, or raise `BuildError` with every mistake."""
    where = f"{what} {path}"
    try:
        return _checked(model, {**defaults, **parse_toml(read_text(Path(path)), where)}, where)
    except OSError as e:
        raise BuildError(f"{where} cannot be read: {reason(e)}. Expected a TOML file.") from e
    except RecipeError as e:
        raise BuildError(str(e)) from None
