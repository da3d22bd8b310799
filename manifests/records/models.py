"""Pydantic models of the records of a dataset: manifest.json, samples.jsonl, regions.jsonl and sets/*.jsonl.

Programs of third parties read these files, so the names of fields must not change. Unknown fields are an error, because
a manifest of a later schema version must not be read as if it had this version.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import not_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...errors import VerificationError, quote
from .fields import (
    MAX_NAME_LENGTH,
    Blake3,
    Count,
    Encoding,
    JsonObject,
    Label,
    Labelled,
    SafePath,
    SetId,
    Sha256,
    ShortText,
    Storage,
    Text,
)

SCHEMA_VERSION = 3
"""The schema version of manifest.json and of the other records."""


def _absent(value: object) -> bool:
    return value is None


class Record(BaseModel):
    """Base class of all records, which are immutable and have no unknown fields."""

    # The string below a field is its description in the JSON Schema. The module `schema` reads these strings from the
    # source, because pydantic would search all loaded modules for the source of each class at every import.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def as_json(self) -> dict[str, Any]:
        """Return the record as a dictionary of JSON values."""
        return self.model_dump(mode="json")


class StageRecord(Record):
    """One corruption of a chain, with the values of all its parameters."""

    corruption: str
    revision: Annotated[int, Field(ge=1)]
    severity: int | float | None
    level: int | None
    parameters: JsonObject


class Spread(Record):
    """Standard deviations of the metrics over the measured images."""

    psnr: float | None
    ssim: float | None
    changed: float | None
    ms_ssim: float | None = Field(default=None, exclude_if=_absent)


TARGET_MS_SSIM = {1: 0.9, 5: 0.5}
"""Severity -> approximate MS-SSIM that the authors of ImageNet-C aimed at, according to their preprint of 2018."""


class Metrics(Record):
    """Mean differences between the corrupted and the clean images, over the first `images` images of a set."""

    images: Count
    psnr: float | None
    """PSNR in dB, or null if the corruption changes the shape of images."""
    ssim: float | None
    changed: float | None
    """The fraction of pixels that differ in at least one channel."""
    ms_ssim: float | None = Field(default=None, exclude_if=_absent)
    """MS-SSIM over `ms_ssim_images` images, or omitted if it was not measured. Images with a side of less than 176
    pixels have no MS-SSIM.
    """
    ms_ssim_images: Count = Field(default=0, exclude_if=not_)
    spread: Spread | None = Field(default=None, exclude_if=_absent)
    """Omitted in datasets of earlier releases, which did not measure it."""


class SetRecord(Record):
    """A set: all samples under one chain of corruptions."""

    id: SetId
    aliases: list[str]
    stages: list[StageRecord]
    role: Literal["test", "validation", "train"]
    count: Count
    files: Count
    """The number of stored images: files and rows of shards. It exceeds `count` if each image is stored twice."""
    bytes: Count
    """The total size of the stored images."""
    pixel_digest: Blake3
    metrics: Metrics | None
    reproducible: bool = Field(default=True, exclude_if=bool)
    """False if the pixels depend on gradients of a model, which differ between machines. Omitted if true."""


class FileRecord(Record):
    """A file of the dataset, other than image files."""

    path: SafePath
    bytes: Count
    sha256: Sha256


class TextureRecord(Record):
    """A texture that was used to compute the images."""

    name: str
    sha256: Sha256


class PluginRecord(Record):
    """A plugin: a module of the user with corruptions that the dataset uses."""

    module: str
    version: str | None
    """The version of the distribution, or of the module if the distribution states none. Null if neither states one."""
    sha256: Sha256
    """The hash of the module's file, or of all Python files of a package."""
    corruptions: list[str]
    """The names of the plugin's corruptions that the recipe uses."""


class SourceRecord(Record):
    """The source of the samples: its scheme without a path, the digest of the selected samples, and its licence."""

    name: str
    digest: Sha256
    license: str | None


class ClassRecord(Record):
    """A class of the source."""

    index: Count
    name: str
    folder: str


class ExcludedRecord(Record):
    """An unusable sample that the build excluded at the request of the user."""

    path: str
    reason: str


class StorageRecord(Record):
    """How the images are stored."""

    container: Storage
    """`folder` for image files, `hdf5` for shards, `both` if every image is stored twice."""

    @property
    def containers(self) -> tuple[Literal["folder", "hdf5"], ...]:
        """The containers (image files or shards) in use. Each of them contains every image."""
        return ("folder", "hdf5") if self.container == "both" else (self.container,)


class Header(Record):
    """The fields of a manifest that are known before the first image is computed. They identify a build."""

    schema_version: Annotated[int, Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=MAX_NAME_LENGTH)]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$", max_length=MAX_NAME_LENGTH)]
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)]
    coupling: Literal["independent", "severity"]
    scale: Literal["none", "side"]
    recipe: JsonObject
    """The resolved recipe, with every setting and every parameter."""
    source: SourceRecord
    preprocessing: JsonObject
    encoding: Encoding
    storage: StorageRecord
    textures: list[TextureRecord]
    surrogates: list[JsonObject] = Field(default=[], exclude_if=not_)
    """The model whose gradients were used to make some sets. Omitted if there is none."""
    plugins: list[PluginRecord] = Field(default=[], exclude_if=not_)
    """The plugins whose corruptions the dataset uses. Omitted if there are none."""
    classes: list[ClassRecord]
    excluded: list[ExcludedRecord]
    selection: JsonObject
    metrics_images: Count
    """The number of images per set, the first by sample id, on which metrics are measured."""

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
        if len(self.name) + len(self.version) >= MAX_NAME_LENGTH:
            raise ValueError(
                f"name and version together have more than {MAX_NAME_LENGTH - 1} characters, which is too long for the "
                "name of a folder"
            )
        return self


class Manifest(Header):
    """The contents of manifest.json, which describes the dataset as a whole."""

    digest: Sha256
    """The digest of the dataset."""
    revisions: dict[str, int]
    """Corruption -> revision, for every corruption that a set uses."""
    sets: list[SetRecord]
    files: list[FileRecord]
    environment: Annotated[dict[str, ShortText], Field(max_length=1000)]
    """The versions of the libraries that built the dataset, without a time, a host name or a path."""

    @property
    def header(self) -> Header:
        """The fields that identify the build of the dataset."""
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
    """The square region of a source image from which a sample was made."""

    source: str
    """The id of the source image."""
    group: str
    """The group of regions that are scored together: ``p20`` for 20 % of the short side, ``s12`` for 12 pixels."""
    fraction: float | None
    side: Side
    """The side of the region in pixels. For an embedded image, the side to which the image was shrunk."""
    y: Position
    """The row of the top left pixel in the source image. For an embedded image, its row on the canvas."""
    x: Position
    role: RegionRole
    """``base`` for a region of the group's side, ``shrink`` for a region inside an anchor that is two pixels
    smaller.
    """
    row: Position
    """The row of the region in its block. For a ``shrink`` region, the row of its first anchor."""
    col: Position
    anchor: bool
    """Whether this is a reference region: its neighbours inside the image and its nine ``shrink`` regions are samples
    too.
    """


class RegionRow(Record):
    """A row of regions.jsonl, which describes a grid of regions with the same side in one image."""

    sample: str
    """The id of the source image."""
    group: str
    fraction: float | None
    side: Side
    role: RegionRole
    y0: Position
    """The row of the first region's top left pixel."""
    x0: Position
    ny: Side
    """The number of rows of the grid; `nx` is the number of columns."""
    nx: Side
    step: Annotated[int, Field(ge=1, le=1)]
    """The distance between neighbouring regions in pixels."""
    margin: Annotated[int, Field(ge=0, le=1)]
    """The number of rows and columns at each border of the grid that contain no anchors."""
    fit: Literal["resize", "pad", "embed"]
    out: Side
    """The side of the resulting image in pixels."""
    interpolation: Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
    channels: Literal["rgb", "keep"]


class SampleRecord(Labelled, Record):
    """A row of samples.jsonl, which describes one sample.

    `pixels` is the digest of the image after preprocessing. If the corrupted images of two builds differ, a comparison
    of this field shows whether the decoder or a corruption is the cause.
    """

    index: Count
    id: str
    label: Label = Field(default=None, exclude_if=_absent)
    """The class index. `label` and `class` are omitted if the source has no labels."""
    class_: Text = Field(default=None, alias="class", exclude_if=_absent)
    split: str | None
    path: str | None
    sha256: Sha256
    width: Count
    height: Count
    pixels: Blake3
    group: Text = Field(default=None, min_length=1, exclude_if=_absent)
    """The group of the sample in its source, such as the style of an icon or the camera of a photograph. Omitted if the
    source has no groups.
    """
    region: RegionRecord | None = Field(default=None, exclude_if=_absent)
    """The region, if the sample is a region of an image. Omitted for whole images."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True)


def check_label(sample: SampleRecord, classes: Sequence[ClassRecord]) -> None:
    """Raise `VerificationError` if the label of a sample is not the index of a class."""
    if sample.label is not None and sample.label >= len(classes):
        raise VerificationError(
            f"The label of sample {quote(sample.id)} is {sample.label}, but the dataset has {len(classes)} classes. "
            "Run `corruptset verify` on the dataset."
        )


class StoredRecord(Record):
    """The location of a stored image: a file, or a row of a shard.

    `bytes` and `sha256` are the size and the hash of the file or of the bytes of the row.
    """

    path: SafePath
    row: Count | None
    bytes: Count
    sha256: Sha256


class ImageRecord(Record):
    """A row of sets/<set id>.jsonl, which describes one image of a set."""

    index: Count
    """The index of the sample."""
    pixels: Blake3
    """The digest of the corrupted pixels before encoding."""
    files: list[StoredRecord]
