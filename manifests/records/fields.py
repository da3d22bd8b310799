"""Types of fields that several records use, with their JSON Schema."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from ...errors import ParameterError

Sha256 = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""A hash of bytes: of a file, a row of a shard, a source or a dataset."""
Blake3 = Annotated[str, Field(pattern=r"^blake3:[0-9a-f]{64}$")]
"""A hash of pixels."""


_NO_NAMES = frozenset(("", ".", ".."))
DRIVE_PATTERN = re.compile("[A-Za-z]:")
"""A drive letter at the beginning of a path. On Windows, such a path would lead out of the directory."""


def safe_path(path: str) -> str:
    """Return a relative POSIX path that stays inside its directory, or raise ValueError."""
    parts = path.split("/")  # an empty path, and a slash at either end, give an empty part
    if not _NO_NAMES.isdisjoint(parts) or "\\" in path or "\0" in path or ":" in parts[0]:
        raise ValueError(f"{path!r} is not a relative path inside the dataset")
    return path


SAFE_PATH_PATTERN = r"^(?!/)(?![^/]*:)(?![\s\S]*//)(?!([\s\S]*/)?\.{1,2}(/|$))[^\\\u0000]*[^/\\\u0000]$"
"""A regular expression for JSON Schema that accepts the same paths as `safe_path`."""

SafePath = Annotated[str, AfterValidator(safe_path), Field(json_schema_extra={"pattern": SAFE_PATH_PATTERN})]
MAX_NAME_LENGTH = 200
"""Limit on the number of characters in ``<name>-<version>``, and in each part of a set id between slashes.

File systems limit names to 255 bytes, and the names of shards, archives and temporary files contain one of these names
and more characters.
"""


def _short_names(set_id: str) -> str:
    if (longest := max(map(len, set_id.split("/")))) > MAX_NAME_LENGTH:
        raise ValueError(
            f"a part between slashes has {longest} characters, but names of files may have at most {MAX_NAME_LENGTH}"
        )
    return set_id


SetId = Annotated[str, Field(pattern=r"^[a-z0-9_+-]+(/[a-z0-9_+-]+)*$", max_length=1024), AfterValidator(_short_names)]
ShortText = Annotated[str, Field(max_length=1000)]
"""A version, or a similar short text."""
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


if TYPE_CHECKING:
    Label = int | None
    Text = str | None
else:  # null is not accepted, because fields without a value are omitted
    Label, Text = Count, str

Storage = Literal["folder", "hdf5", "both"]
"""How the images of a dataset are stored: as image files in folders, in HDF5 shards, or in both."""
STRICT_CONFIG = ConfigDict(extra="forbid", strict=True)


class Png(TypedDict):
    """Lossless encoding, as PNG files or as raw pixels in shards."""

    __pydantic_config__ = STRICT_CONFIG  # type: ignore[misc]
    format: Literal["png"]


class Jpeg(TypedDict):
    """JPEG encoding, as files or as their bytes in shards."""

    __pydantic_config__ = STRICT_CONFIG  # type: ignore[misc]
    format: Literal["jpeg"]
    quality: Annotated[int, Field(ge=1, le=100)]
    optimize: bool
    subsampling: Literal["4:4:4", "4:2:2", "4:2:0"]


def check_finite(value: Any) -> Any:
    """Return a JSON value, or raise ValueError if it contains a number that is NaN or infinite."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it contains a number that is not finite")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_finite(part)
    return value


Encoding = Annotated[Jpeg | Png, Field(discriminator="format")]
"""The encoding of the images, as docs/format.md describes it."""
JsonObject = Annotated[dict[str, Any], AfterValidator(check_finite)]
"""A JSON object in the manifest for which there is no model."""


class Labelled:
    """Base class of objects that may have a label."""

    if TYPE_CHECKING:  # each subclass defines the field
        label: int | None

    @property
    def class_index(self) -> int:
        """The label. Reading it raises `ParameterError` if the source has no labels."""
        if self.label is None:
            raise ParameterError(
                "This operation needs labels, but the images have none, because their source (tree) has none. To score "
                "detection or segmentation metrics, use `corruptset score-table`."
            )
        return self.label
