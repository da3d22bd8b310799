"""Field types that records have in common, with their JSON Schema."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from ...errors import ParameterError

Sha256 = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""Of bytes: files, rows of shards, sources, the build."""
Blake3 = Annotated[str, Field(pattern=r"^blake3:[0-9a-f]{64}$")]
"""Of pixels."""


_NO_NAMES = frozenset(("", ".", ".."))
DRIVE = re.compile("[A-Za-z]:")
"""How a path begins that leads to another drive on Windows."""


def safe_path(path: str) -> str:
    """Return a relative POSIX path that stays inside its directory, or raise ValueError."""
    parts = path.split("/")  # of an empty path or one that begins or ends with a slash, one is empty
    if not _NO_NAMES.isdisjoint(parts) or "\\" in path or "\0" in path or ":" in parts[0]:
        raise ValueError(f"{path!r} is not a relative path inside the data set")
    return path


SAFE_PATH_PATTERN = r"^(?!/)(?![^/]*:)(?![\s\S]*//)(?!([\s\S]*/)?\.{1,2}(/|$))[^\\\u0000]*[^/\\\u0000]$"
"""What `safe_path` says, for JSON Schema."""

SafePath = Annotated[str, AfterValidator(safe_path), Field(json_schema_extra={"pattern": SAFE_PATH_PATTERN})]
LONGEST_NAME = 200
"""Characters of a set id between slashes, and of ``<name>-<version>``: file systems take 255 bytes, and shards,
archives and temporary files have something added."""


def _short_names(set_id: str) -> str:
    if (longest := max(map(len, set_id.split("/")))) > LONGEST_NAME:
        raise ValueError(f"a part between slashes has {longest} characters, and file names have at most {LONGEST_NAME}")
    return set_id


SetId = Annotated[str, Field(pattern=r"^[a-z0-9_+-]+(/[a-z0-9_+-]+)*$", max_length=1024), AfterValidator(_short_names)]
Short = Annotated[str, Field(max_length=1000)]
"""A version, or another text that is no prose."""
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


if TYPE_CHECKING:
    Label = int | None
    Text = str | None
else:  # null is no value of theirs: what a sample does not have is left out
    Label, Text = Count, str

Storage = Literal["folder", "hdf5", "both"]
"""How the images of a dataset are stored: as image files in folders, in HDF5 shards, or twice, in both."""
STRICT = ConfigDict(extra="forbid", strict=True)


class Png(TypedDict):
    """Images without loss: PNG files, or raw pixels in shards."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    format: Literal["png"]


class Jpeg(TypedDict):
    """Images as JPEG files, or their bytes in shards."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    format: Literal["jpeg"]
    quality: Annotated[int, Field(ge=1, le=100)]
    optimize: bool
    subsampling: Literal["4:4:4", "4:2:2", "4:2:0"]


def check_finite(value: Any) -> Any:
    """Return a value of JSON; ValueError where a number is NaN or infinite."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number in it is not finite")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_finite(part)
    return value


Encoding = Annotated[Jpeg | Png, Field(discriminator="format")]
"""How images are encoded; docs/format.md describes it."""
Free = Annotated[dict[str, Any], AfterValidator(check_finite)]
"""A part of the manifest that has no model of its own."""


class Labelled:
    """Base of what may have a label."""

    if TYPE_CHECKING:  # a field of its own in each of the two
        label: int | None

    @property
    def class_index(self) -> int:
        """The label; where the source has none it raises `ParameterError`."""
        if self.label is None:
            raise ParameterError(
                "The images have no labels, because their source (tree) has none, and this needs labels. Detection and "
                "segmentation metrics are scored with `corruptset score-table`."
            )
        return self.label
