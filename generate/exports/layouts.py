"""Export layouts: the folders and files that each loader expects, as defined in `layouts.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Literal

from ...corruptions.add_ons import find_add_ons, install_hint
from ...errors import BuildError, suggest
from ...files import parse_toml
from ..recipes.expectations import Expects
from ..recipes.file_models import RecipeTable

Column = Literal["file_name", "label", "corruption", "severity", "level", "set", "class", "id", "split", "group"]


class Text(RecipeTable):
    """A text file in an export. Its contents are defined by exactly one of `line`, `columns`, `labels` and `made`."""

    path: str
    line: str | None = None
    """The template of a line. The file has one line per image."""
    columns: tuple[Column, ...] | None = None
    """The keys of a JSON object. The file has one line per image, with an object that omits keys without a value."""
    labels: Literal["uint8", "int64"] | None = None
    """The dtype of the labels. The file is a .npy array with one label for each row of an array of images."""
    made: Literal["shards", "croissant"] | None = None
    """``shards`` for the list of archives that timm reads (_info.json), or ``croissant`` for croissant.json."""


class Remark(RecipeTable):
    """A note that warns the user if a loader would silently misread the dataset."""

    text: str
    unless_samples: int | None = None
    """The note is shown unless the dataset has exactly this number of samples."""
    unless_splits: int | None = None
    """The note is shown unless the dataset has exactly this number of splits."""


class Layout(RecipeTable):
    """The layout of an export: folders, file names, arrays, archives and text files.

    Paths and names are templates. `Placement` supplies the values of the words in braces.
    """

    name: str
    about: str
    container: Literal["files", "arrays", "tars"]
    top: str = "{dataset}"
    """The top folder of the export. Loaders expect the path of this folder or of its parent."""
    place: str
    """The folder, the array or the archive that contains the images of a set."""
    image: str = ""
    """The name of an image in its folder or archive. It is empty for arrays, whose rows have no names."""
    names: Literal["any", "severities", "one", "letters"] = "any"
    """The sets that can be exported: any sets, corruptions with five severities, one set per corruption, or only
    corruptions that have a letter.
    """
    letters: dict[str, str] = {}
    """A mapping from corruptions to the letters at the end of their image names."""
    listed: bool = False
    """Whether only the images on a list are exported."""
    numbers_classes: bool = False
    """Whether loaders number the classes by their folders. In this case, every class needs at least one image."""
    whole_images: bool = False
    """Whether loaders assume that each row or name is a whole image of the source. In this case, regions cannot be
    exported.
    """
    blanks: bool = True
    """Whether paths may contain spaces."""
    splits: tuple[str, ...] = ()
    """The splits that the layout supports. If empty, any split is supported."""
    expects: Expects | None = None
    """The image sizes and channels that the loaders expect. None means any."""
    with_each: tuple[Text, ...] = ()
    """The text files that follow each image in an archive."""
    beside: tuple[Text, ...] = ()
    """All other text files."""
    remarks: tuple[Remark, ...] = ()

    @property
    def takes_clean(self) -> bool:
        """Whether the clean images are exported even if the user did not name them."""
        return self.names in ("any", "one")

    @property
    def source_names(self) -> bool:
        """Whether the images keep their paths from the source, including their suffixes."""
        return "{source" in self.image

    @property
    def labelled(self) -> bool:
        """Whether the layout contains labels. In this case, images without labels cannot be exported."""
        texts = (*self.with_each, *self.beside)
        templates = " ".join([self.image, *(f"{text.path} {text.line}" for text in texts)])
        named = any(f"{{{word}" in templates for word in ("class", "label", "image"))
        return named or any(text.labels or text.made or text.columns for text in texts)


def _layouts() -> dict[str, Layout]:
    tables = parse_toml((resources.files(__package__) / "layouts.toml").read_text("utf-8"), "layouts.toml")
    return {name: Layout.model_validate({"name": name, **table}) for name, table in tables.items()}


LAYOUTS: Mapping[str, Layout] = _layouts()
"""A mapping from names to layouts."""


def get_layout(name: str) -> Layout:
    """Return the layout with the given name, or raise `BuildError` if there is no such layout."""
    if name not in LAYOUTS:
        known = "".join(f"\n  {layout.name}: {layout.about}" for layout in LAYOUTS.values())
        known += "".join(f"\n  {added}: from an add-on" for added in find_add_ons("exports"))
        hint = install_hint(name) or suggest(name, [*LAYOUTS, *find_add_ons("exports")])
        raise BuildError(f"{name!r} is not a layout.{hint} Known layouts:{known}")
    return LAYOUTS[name]
