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

from ...errors import BuildError, install_extra
from ..checksums import parse_sha256sums, sums_bytes
from ..disk.atomic import make_folder, replacing, write_atomic
from ..paths import SHA256SUMS
from ..reader import Dataset
from ..reading.hugging_face import class_names, encoded_rows
from ..records.digests import sha256_file
from ..records.models import FileRecord, Manifest
from ..records.report import Progress

PARQUET = "parquet-"
"""The beginning of the folder's name; digits of the pack follow."""
_ROWS = 100
"""Of a group, which is in memory at a time, and is what readers fetch of a file."""


def configurations(manifest: Manifest, files: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return name, split and file of each configuration of a release with Parquet."""
    paths = {PurePosixPath(path).stem: path for path in files}
    return [(_name(s.id), s.role, paths[_name(s.id)]) for s in manifest.sets]


def check_parquet(manifest: Manifest) -> None:
    """Raise BuildError where pyarrow is missing, or two sets would be one configuration."""
    if importlib.util.find_spec("pyarrow") is None:
        raise BuildError(f"--parquet needs pyarrow, which is not installed. {install_extra('hub')}")
    if len({_name(s.id) for s in manifest.sets}) < len(manifest.sets):
        raise BuildError(
            "Two sets of this data set differ in '/' and '-' alone, so they would be one configuration. Leave "
            "--parquet out."
        )


def write_parquet(data: Dataset, out: Path, progress: Progress) -> None:
    """Write a file for every set, and then their hashes."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    names = class_names(data.classes)
    image = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    label = {"label": (pyarrow.int64(), {"_type": "ClassLabel", "names": names})} if names else {}
    string = (pyarrow.string(), {"_type": "Value", "dtype": "string"})
    columns = {"image": (image, {"_type": "Image"}), **label, "id": string}
    known = {"huggingface": json.dumps({"info": {"features": {name: of for name, (_, of) in columns.items()}}})}
    schema = pyarrow.schema([(name, kind) for name, (kind, _) in columns.items()], metadata=known)
    sums, ids = {}, [s.id for s in data.manifest.sets]
    make_folder(out.parent, out.name)
    for done, set_id in enumerate(ids):
        progress("parquet", done, len(ids))
        path = out / f"{_name(set_id)}.parquet"
        with replacing(path) as part, ParquetWriter(part, schema, compression="none") as file:
            rows = encoded_rows(data[set_id], data.samples)
            while group := list(islice(rows, _ROWS)):
                file.write_batch(pyarrow.RecordBatch.from_pylist(group, schema))
        sums[path.name] = sha256_file(path)
    write_atomic(out / SHA256SUMS, sums_bytes(sums))


def parquet_files(release: Path) -> list[FileRecord]:
    """Return the Parquet files of a release; none where it was packed without."""
    return [
        FileRecord(path=f"{sums.parent.name}/{name}", bytes=(sums.parent / name).stat().st_size, sha256=sha256)
        for sums in release.glob(f"{PARQUET}*/{SHA256SUMS}")
        for name, sha256 in parse_sha256sums(sums.read_bytes())[0].items()
    ]


def _name(set_id: str) -> str:
    return set_id.replace("/", "-")
