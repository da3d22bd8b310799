"""The layouts of exports, which are data: `layouts.toml` describes the layout of every loader."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Literal

from ...corruptions.add_ons import install_hint, installed
from ...errors import BuildError, suggest
from ...files import parse_toml
from ..recipes.expectations import Expects
from ..recipes.file_models import RecipeTable

Column = Literal["file_name", "label", "corruption", "severity", "level", "set", "class", "id", "split", "group"]


class Text(RecipeTable):
    """A text file of an export. Exactly one of `line`, `columns`, `labels` and `made` says what it contains."""

    path: str
    line: str | None = None
    """A template that gives one line of text per image."""
    columns: tuple[Column, ...] | None = None
    """The keys of one line of JSON per image. A key for which an image has no value is left out."""
    labels: Literal["uint8", "int64"] | None = None
    """The dtype of an array with the labels of the rows of an array of images."""
    made: Literal["shards", "croissant"] | None = None
    """``shards`` is the list of archives that timm reads, ``croissant`` is croissant.json."""


class Remark(RecipeTable):
    """A note for the user on a dataset that a loader would read wrongly without an error."""

    text: str
    unless_samples: int | None = None
    """Show the note unless there are exactly this number of samples."""
    unless_splits: int | None = None
    """Show the note unless there are exactly this number of splits."""


class Layout(RecipeTable):
    """The layout of an export: folders, file names, arrays, archives and text files.

    The strings are templates. `Placement.words` and `Placement` define the words in braces.
    """

    name: str
    about: str
    container: Literal["files", "arrays", "tars"]
    top: str = "{dataset}"
    """The top folder of the export. Loaders are given this folder or its parent folder."""
    place: str
    """The folder, the array or the archive that contains the images of a set."""
    image: str = ""
    """The name of an image in its folder or archive. Rows of arrays have no names."""
    names: Literal["any", "severities", "one", "letters"] = "any"
    """The sets that can be exported: any, corruptions with five severities, one set per corruption, or corruptions
    with a letter.
    """
    letters: dict[str, str] = {}
    """The letter that ends the image names of each corruption."""
    listed: bool = False
    """Whether only the images on a list are exported."""
    numbers_classes: bool = False
    """Whether loaders number the class folders, so that every class needs an image."""
    whole_images: bool = False
    """Whether loaders take each row or name for an image of the source, so that regions cannot be exported."""
    blanks: bool = True
    """Whether paths may contain blanks."""
    splits: tuple[str, ...] = ()
    """The splits that the layout supports. An empty tuple supports any."""
    expects: Expects | None = None
    """The images that the loaders expect. None stands for any images."""
    with_each: tuple[Text, ...] = ()
    """The text files that follow each image in an archive."""
    beside: tuple[Text, ...] = ()
    """The other text files."""
    remarks: tuple[Remark, ...] = ()

    @property
    def takes_clean(self) -> bool:
        """Whether the clean images are exported although they were not asked for."""
        return self.names in ("any", "one")

    @property
    def source_names(self) -> bool:
        """Whether the images have the paths that they have in their source, and therefore their suffixes."""
        return "{source" in self.image

    @property
    def labelled(self) -> bool:
        """Whether the layout contains labels, so that images without labels cannot be exported."""
        texts = (*self.with_each, *self.beside)
        templates = " ".join([self.image, *(f"{text.path} {text.line}" for text in texts)])
        named = any(f"{{{word}" in templates for word in ("class", "label", "image"))
        return named or any(text.labels or text.made or text.columns for text in texts)


def _layouts() -> dict[str, Layout]:
    tables = parse_toml((resources.files(__package__) / "layouts.toml").read_text("utf-8"), "layouts.toml")
    return {name: Layout.model_validate({"name": name, **table}) for name, table in tables.items()}


LAYOUTS: Mapping[str, Layout] = _layouts()
"""All layouts by their names."""


def get_layout(name: str) -> Layout:
    """Return a layout by its name. Raise `BuildError` for an unknown name."""
    if name not in LAYOUTS:
        known = "".join(f"\n  {layout.name}: {layout.about}" for layout in LAYOUTS.values())
        known += "".join(f"\n  {added}: from an add-on" for added in installed("exports"))
        hint = install_hint(name) or suggest(name, [*LAYOUTS, *installed("exports")])
        raise BuildError(f"{name!r} is not a layout.{hint} Known layouts:{known}")
    return LAYOUTS[name]
