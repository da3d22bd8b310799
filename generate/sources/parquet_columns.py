"""Find the image and label columns of a Parquet file, by their names or by the Hugging Face metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import CorruptsetError, SourceError, first_few

IMAGE_NAMES = ("image", "img")
LABEL_NAMES = ("label", "labels")
PAGE_BUFFER = 1 << 20


@dataclass(frozen=True)
class Columns:
    """The image column and the label column of a Parquet source."""

    image: str
    label: str
    names: tuple[str, ...]
    """Names of the classes, if the metadata has them."""
    numeric: bool
    """True if labels are whole numbers, False if labels are text."""
    has_path: bool

    @property
    def expected(self) -> str:
        """A description of valid labels for messages."""
        if self.names:
            return f"a whole number from 0 to {len(self.names) - 1}"
        return "a whole number from 0" if self.numeric else "the name of a class"

    @property
    def described(self) -> str:
        """A description of the columns for messages."""
        kind = f"{len(self.names)} named classes" if self.names else "numbers" if self.numeric else "texts"
        return f"{self.image!r}, and {self.label!r} with {kind}"


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file for the duration of a block, and convert reading errors into a `SourceError`."""
    from pyarrow import ArrowException, OSFile
    from pyarrow.parquet import ParquetFile

    try:
        # The file is not memory-mapped, because the process would crash if the file were truncated in the meantime.
        with OSFile(str(path)) as file:
            yield ParquetFile(file, buffer_size=PAGE_BUFFER, page_checksum_verification=True)
    except CorruptsetError:
        raise
    except (ArrowException, OSError, ValueError, MemoryError, OverflowError) as e:
        reason = str(e).partition("\n")[0][:300] or type(e).__name__
        raise SourceError(f"{path} is not a Parquet file, or a damaged one ({reason}). Download it again.") from None


def find_columns(path: Path, image: str | None, label: str | None) -> Columns:
    """Find the image column and the label column of a file.

    Raises
    ------
    SourceError
        There are no such columns, there are several candidates, or the columns have unsuitable types.
    """
    from pyarrow import types

    with open_parquet(path) as parquet:
        schema = parquet.schema_arrow
    features = _features(schema.metadata or {}, path)
    image = image or _choose(path, schema, "--images", _of_type(features, "Image"), IMAGE_NAMES)
    label = label or _choose(path, schema, "--labels", _of_type(features, "ClassLabel"), LABEL_NAMES)
    image_type, label_type = _type(path, schema, image, "--images"), _type(path, schema, label, "--labels")
    fields = {field.name: field.type for field in image_type} if types.is_struct(image_type) else {}
    if "bytes" not in fields or not (types.is_binary(fields["bytes"]) or types.is_large_binary(fields["bytes"])):
        raise SourceError(
            f"{path}: the column {image!r} is of type {str(image_type)[:200]}; expected images of Hugging Face, which "
            "are struct<bytes: binary, path: string>. Name another column with --images."
        )
    text = label_type.value_type if types.is_dictionary(label_type) else label_type
    numeric = types.is_integer(label_type)
    if not numeric and not (types.is_string(text) or types.is_large_string(text)):
        raise SourceError(
            f"{path}: the column {label!r} is of type {str(label_type)[:200]}; expected whole numbers or texts. Name "
            "another column with --labels."
        )
    names = features.get(label, {}).get("names", ()) if numeric else ()
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise SourceError(f"{path}: the names of the classes of {label!r} are not a list of texts. Download it again.")
    has_path = "path" in fields and (types.is_string(fields["path"]) or types.is_large_string(fields["path"]))
    return Columns(image, label, tuple(names), numeric, has_path)


def _features(metadata: Mapping[bytes, bytes], path: Path) -> dict[str, Mapping[str, Any]]:
    """Return the descriptions of columns in the Hugging Face metadata, by column name. There may be none."""
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
        return {name: feature for name, feature in features.items() if isinstance(feature, dict)}
    except (ValueError, AttributeError, RecursionError) as e:
        raise SourceError(f"{path}: the Hugging Face metadata cannot be read ({e}). Download the file again.") from None


def _of_type(features: Mapping[str, Mapping[str, Any]], kind: str) -> list[str]:
    return [name for name, feature in features.items() if feature.get("_type") == kind]


def _choose(path: Path, schema: Any, option: str, candidates: list[str], usual: tuple[str, ...]) -> str:
    """Return the only column that has a usual name, or otherwise the only candidate."""
    for names in (usual, candidates):
        if (
            len(found := [name for name in names if name in schema.names and (not candidates or name in candidates)])
            == 1
        ):
            return found[0]
    what = "several columns that fit" if len(candidates) > 1 else "no column that fits"
    raise SourceError(f"{path} has {what}. It has {first_few(schema.names, 12) or 'none'}: name one with {option}.")


def _type(path: Path, schema: Any, name: str, option: str) -> Any:
    count = schema.names.count(name)
    if count != 1:
        raise SourceError(
            f"{path} has {'no column' if not count else f'{count} columns'} {name!r}. It has "
            f"{first_few(schema.names, 12) or 'none'}: name one with {option}."
        )
    return schema.field(name).type
