"""Parquet beside archives: images as `datasets` loads them, a file and configuration a set.

`datasets` keeps what it loaded by the name of the release's folder and the paths in it. So files with other content
need another path.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from ...errors import BuildError
from ..checksums import parse_sha256sums, sums_bytes
from ..disk.atomic import replacing, write_atomic
from ..layout import SHA256SUMS
from ..reader import DataSet
from ..reading.hugging_face import class_names, encoded_rows
from ..reading.image_set import ImageSet
from ..records.digests import sha256_file
from ..records.models import FileRecord, Manifest, SetRecord
from ..records.report import Progress

PARQUET = "parquet-"
"""The beginning of the folder's name; digits of the pack follow."""
_ROWS = 100
"""Of a group, which is in memory at a time, and is what readers fetch of a file."""


def configurations(manifest: Manifest, files: Iterable[FileRecord]) -> list[dict[str, Any]]:
    """Return the configurations of a release with Parquet, for the YAML of its README.md."""
    paths = {PurePosixPath(f.path).stem: f.path for f in files}
    return [
        {"config_name": _name(s), "data_files": [{"split": s.role, "path": paths[_name(s)]}]} for s in manifest.sets
    ]


def check_parquet(manifest: Manifest) -> None:
    """Raise BuildError where pyarrow is missing, or two sets would be one configuration."""
    if importlib.util.find_spec("pyarrow") is None:
        raise BuildError("--parquet needs pyarrow, which is not installed: pip install 'corruptset[hub]'.")
    if len({_name(record) for record in manifest.sets}) < len(manifest.sets):
        raise BuildError(
            "Two sets of this data set differ in '/' and '-' alone, so they would be one configuration. Leave "
            "--parquet out."
        )


def write_parquet(data: DataSet, out: Path, progress: Progress) -> None:
    """Write a file for every set, and then their hashes."""
    sums = {}
    out.mkdir(exist_ok=True)
    for done, record in enumerate(data.manifest.sets):
        progress("parquet", done, len(data.manifest.sets))
        path = out / f"{_name(record)}.parquet"
        with replacing(path) as part:
            _write_set(data[record.id], data, part)
        sums[path.name] = sha256_file(path)
    write_atomic(out / SHA256SUMS, sums_bytes(sums))


def parquet_files(release: Path) -> list[FileRecord]:
    """Return the Parquet files of a release; none where it was packed without."""
    return [
        FileRecord(path=f"{sums.parent.name}/{name}", bytes=(sums.parent / name).stat().st_size, sha256=sha256)
        for sums in release.glob(f"{PARQUET}*/{SHA256SUMS}")
        for name, sha256 in parse_sha256sums(sums.read_bytes())[0].items()
    ]


def _name(record: SetRecord) -> str:
    return record.id.replace("/", "-")


def _write_set(images: ImageSet, data: DataSet, path: Path) -> None:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    names = class_names(data.classes)
    features = {
        "image": {"_type": "Image"},
        **({"label": {"_type": "ClassLabel", "names": names}} if names else {}),
        "id": {"_type": "Value", "dtype": "string"},
    }
    image = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    types = {"image": image, "label": pyarrow.int64(), "id": pyarrow.string()}
    known = {"huggingface": json.dumps({"info": {"features": features}})}
    schema = pyarrow.schema([(name, types[name]) for name in features], metadata=known)
    with ParquetWriter(path, schema, compression="none") as file:
        rows = encoded_rows(images, data.samples)
        while group := list(islice(rows, _ROWS)):
            file.write_batch(pyarrow.RecordBatch.from_pylist(group, schema))
