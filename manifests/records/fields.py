"""Fields that records have in common: their types, with what the JSON Schema says of them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

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
SetId = Annotated[str, Field(pattern=r"^[a-z0-9_+-]+(/[a-z0-9_+-]+)*$", max_length=1024)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


def _given(value: Any) -> Any:
    if value is None:
        raise ValueError("is null; what a sample does not have is left out")
    return value


Label = Annotated[
    Count | None, AfterValidator(_given), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**53 - 1})
]
ClassName = Annotated[str | None, AfterValidator(_given), WithJsonSchema({"type": "string"})]
GroupName = Annotated[
    str | None, Field(min_length=1), AfterValidator(_given), WithJsonSchema({"type": "string", "minLength": 1})
]
"""Left out, never null, where a source has no groups."""


CONTAINERS = [["folder"], ["hdf5"], ["folder", "hdf5"], ["view"]]
JPEG_SUBSAMPLING = ("4:4:4", "4:2:2", "4:2:0")


def check_encoding(encoding: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest's encoding, or raise ValueError; docs/format.md describes it."""
    match encoding:
        case {"format": "png", "containers": containers} if len(encoding) == 2 and containers in CONTAINERS:
            return encoding
        case {
            "format": "jpeg",
            "quality": int(quality),
            "optimize": bool(),
            "subsampling": subsampling,
            "containers": containers,
        }:
            fits = subsampling in JPEG_SUBSAMPLING and containers in CONTAINERS
            if len(encoding) == 5 and type(quality) is int and 1 <= quality <= 100 and fits:
                return encoding
    raise ValueError(
        f"expected format 'png' and containers (one of {CONTAINERS}), or format 'jpeg', quality (1 to 100), optimize "
        "(true or false), "
        f"subsampling (one of {', '.join(JPEG_SUBSAMPLING)}) and containers"
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {"properties": properties, "required": [*properties], "additionalProperties": False}


ENCODING_SCHEMA = {
    "type": "object",
    "oneOf": [
        _object(
            format={"const": "jpeg"},
            quality={"type": "integer", "minimum": 1, "maximum": 100},
            optimize={"type": "boolean"},
            subsampling={"enum": list(JPEG_SUBSAMPLING)},
            containers={"enum": CONTAINERS},
        ),
        _object(format={"const": "png"}, containers={"enum": CONTAINERS}),
    ],
}
"""What `check_encoding` says, for JSON Schema."""


def check_finite(value: Any) -> Any:
    """Return a value of JSON, or raise ValueError if a number in it is NaN or infinite (as ``1e999`` is)."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number in it is not finite")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_finite(part)
    return value


Encoding = Annotated[dict[str, Any], AfterValidator(check_encoding), WithJsonSchema(ENCODING_SCHEMA)]
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
