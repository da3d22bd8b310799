"""The records of a data set, as pydantic models: those of manifest.json, samples.jsonl and sets/*.jsonl.

Field names are a contract: third parties read them. Unknown fields are refused, so that a manifest from a later schema
version is not half understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import not_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...errors import VerificationError, quoted
from .fields import (
    LONGEST_NAME,
    Blake3,
    Count,
    Encoding,
    Free,
    Label,
    Labelled,
    SafePath,
    SetId,
    Sha256,
    Short,
    Storage,
    Text,
)

SCHEMA_VERSION = 3
"""The version of manifest.json and of the other records."""


def _absent(value: object) -> bool:
    return value is None


class Record(BaseModel):
    """Base of all records: strict about fields, immutable."""

    # The text below a field is its description in the JSON Schema. `schema` reads it, because pydantic would search the
    # source of each class in all loaded modules at every import.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return self.model_dump(mode="json")


class StageRecord(Record):
    """One corruption with every parameter resolved."""

    corruption: str
    revision: Annotated[int, Field(ge=1)]
    severity: int | float | None
    level: int | None
    parameters: Free


class Spread(Record):
    """Standard deviations over the images that means are of."""

    psnr: float | None
    ssim: float | None
    changed: float | None
    ms_ssim: float | None = Field(default=None, exclude_if=_absent)


AIMED_AT = {1: 0.9, 5: 0.5}
"""Severity -> the MS-SSIM about which the 2018 preprint of ImageNet-C (there called ImageNet-D) chose it."""


class Metrics(Record):
    """Means over a documented sample of a set's images against the clean ones."""

    images: Count
    psnr: float | None
    """dB; null where a corruption changes an image's shape."""
    ssim: float | None
    changed: float | None
    """Fraction of pixels with any channel changed."""
    ms_ssim: float | None = Field(default=None, exclude_if=_absent)
    """Over `ms_ssim_images` of them. Left out where it was not measured: images with a side below 176 pixels have none.
    """
    ms_ssim_images: Count = Field(default=0, exclude_if=not_)
    spread: Spread | None = Field(default=None, exclude_if=_absent)
    """Left out by releases before MS-SSIM."""


class SetRecord(Record):
    """All samples under one chain of stages."""

    id: SetId
    aliases: list[str]
    stages: list[StageRecord]
    role: Literal["test", "validation", "train"]
    count: Count
    files: Count
    """Image entries: files or shard rows."""
    bytes: Count
    """Their bytes, summed."""
    pixel_digest: Blake3
    metrics: Metrics | None
    reproducible: bool = Field(default=True, exclude_if=bool)
    """False where a model's gradients go into the pixels: another machine makes other ones. Left out where true."""


class FileRecord(Record):
    """A file of the data set that is not a single image."""

    path: SafePath
    bytes: Count
    sha256: Sha256


class TextureRecord(Record):
    """A texture that went into the pixels."""

    name: str
    sha256: Sha256


class PluginRecord(Record):
    """A module of somebody's own with corruptions that sets are made with."""

    module: str
    version: str | None
    """Of its distribution, else its own; null where it states none."""
    sha256: Sha256
    """Of its file; of a package, of all its Python files."""
    corruptions: list[str]
    """Those that the recipe's sets have."""


class SourceRecord(Record):
    """Where the samples came from: scheme (never a path), digest of the selection, licence."""

    name: str
    digest: Sha256
    license: str | None


class ClassRecord(Record):
    """A class of the source."""

    index: Count
    name: str
    folder: str


class ExcludedRecord(Record):
    """A bad sample that the build left out, as the user asked."""

    path: str
    reason: str


class StorageRecord(Record):
    """Where the images are stored."""

    container: Storage
    """`folder` for image files, `hdf5` for shards, `both` if every image is stored twice."""

    @property
    def containers(self) -> tuple[Literal["folder", "hdf5"], ...]:
        """Each container that has every image."""
        return ("folder", "hdf5") if self.container == "both" else (self.container,)


class Header(Record):
    """What a build is: the fields of a manifest that are known before the first image is made."""

    schema_version: Annotated[int, Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=LONGEST_NAME)]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$", max_length=LONGEST_NAME)]
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)]
    coupling: Literal["independent", "severity"]
    scale: Literal["none", "side"]
    recipe: Free
    """Resolved in full."""
    source: SourceRecord
    preprocessing: Free
    encoding: Encoding
    storage: StorageRecord
    textures: list[TextureRecord]
    surrogates: list[Free] = Field(default=[], exclude_if=not_)
    """The model whose gradients some sets follow. Left out where there is none."""
    plugins: list[PluginRecord] = Field(default=[], exclude_if=not_)
    """Where corruptions come from that are not corruptset's. Left out where there are none."""
    classes: list[ClassRecord]
    excluded: list[ExcludedRecord]
    selection: Free
    metrics_images: Count
    """The number of images, the first by id, that the metrics of each set are measured on."""

    @property
    def title(self) -> str:
        """``<name> <version>``."""
        return f"{self.name} {self.version}"

    @property
    def folder(self) -> str:
        """The name of the dataset's folder, ``<name>-<version>``."""
        return f"{self.name}-{self.version}"

    @model_validator(mode="after")
    def _names_a_folder(self) -> Header:
        if len(self.name) + len(self.version) >= LONGEST_NAME:
            raise ValueError(f"name and version have more than {LONGEST_NAME - 1} characters, too many for a folder")
        return self


class Manifest(Header):
    """manifest.json: everything about the whole."""

    digest: Sha256
    revisions: dict[str, int]
    """corruption -> revision, of every corruption that a set uses."""
    sets: list[SetRecord]
    files: list[FileRecord]
    environment: Annotated[dict[str, Short], Field(max_length=1000)]
    """Versions of the libraries that made it; no time, host or path."""

    @property
    def header(self) -> Header:
        """What the build of the dataset is."""
        return Header.model_construct(**{name: getattr(self, name) for name in Header.model_fields})

    def __repr__(self) -> str:
        return (
            f"<Manifest {self.name} {self.version}: {len(self.sets)} sets, {len(self.files)} files listed, "
            f"{self.digest}>"
        )

    __str__ = __repr__


Side = Annotated[int, Field(ge=1, le=2**31 - 1)]
Position = Annotated[int, Field(ge=0, le=2**31 - 1)]
RegionRole = Literal["base", "shrink"]


class RegionRecord(Record):
    """The square region of a source image that a sample is."""

    source: str
    """The id of the source image."""
    group: str
    """``p20`` for a fraction of the short side, ``s12`` for a side in pixels: the regions that are scored together."""
    fraction: float | None
    side: Side
    """Pixels of the region; of an embedded image, the side that it was shrunk to."""
    y: Position
    """Of the region's upper left pixel in the source image; of an embedded image, on the canvas."""
    x: Position
    role: RegionRole
    """``shrink``: two pixels smaller than the regions of the group, inside an anchor."""
    row: Position
    """Of the region in its block; of a shrink, the row of its first anchor."""
    col: Position
    anchor: bool
    """Whether its neighbours, as far as they lie in the image, and its nine shrinks are samples too."""


class RegionRow(Record):
    """A row of regions.jsonl: a grid of regions of one side in one image."""

    sample: str
    """The id of the source image."""
    group: str
    fraction: float | None
    side: Side
    role: RegionRole
    y0: Position
    """Of the first region's upper left pixel."""
    x0: Position
    ny: Side
    """Rows of positions."""
    nx: Side
    step: Annotated[int, Field(ge=1, le=1)]
    """Pixels between positions."""
    margin: Annotated[int, Field(ge=0, le=1)]
    """How many positions from the border of the block of base regions its anchors begin."""
    fit: Literal["resize", "pad", "embed"]
    out: Side
    """Pixels of a side of what comes out."""
    interpolation: Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
    channels: Literal["rgb", "keep"]


class SampleRecord(Labelled, Record):
    """A row of samples.jsonl.

    `pixels` is the digest after preprocessing: it tells a decoder's drift from a corruption's.
    """

    index: Count
    id: str
    label: Label = Field(default=None, exclude_if=_absent)
    """Left out where the source has no labels, as is its class."""
    class_: Text = Field(default=None, alias="class", exclude_if=_absent)
    split: str | None
    path: str | None
    sha256: Sha256
    width: Count
    height: Count
    pixels: Blake3
    group: Text = Field(default=None, min_length=1, exclude_if=_absent)
    """What a source groups its samples by: the style of an icon, the camera of a photograph. Left out where it has no
    groups.
    """
    region: RegionRecord | None = Field(default=None, exclude_if=_absent)
    """Of a region; left out of the row of a whole image."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True)


def check_label(sample: SampleRecord, classes: Sequence[ClassRecord]) -> None:
    """Raise VerificationError for a label that is the index of no class."""
    if sample.label is not None and sample.label >= len(classes):
        raise VerificationError(
            f"The label of sample {quoted(sample.id)} is {sample.label}, and the data set has {len(classes)} classes. "
            "Run `corruptset verify` on it."
        )


class StoredRecord(Record):
    """Where an image is stored: a file, or a row of a shard.

    Of a row, bytes and sha256 are of its stored bytes.
    """

    path: SafePath
    row: Count | None
    bytes: Count
    sha256: Sha256


class ImageRecord(Record):
    """A row of sets/<set id>.jsonl."""

    index: Count
    """The sample's."""
    pixels: Blake3
    """As corrupted, before encoding."""
    files: list[StoredRecord]
