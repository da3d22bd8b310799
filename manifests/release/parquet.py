"""Write the images of a release as Parquet for `datasets`, with one file and one configuration per set.

`datasets` caches loaded files by the name of the release's folder and their path in this folder. Files with different
contents therefore need different paths.
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
from ..records.report import ProgressCallback

PARQUET = "parquet-"
"""The beginning of the name of the Parquet folder. Hexadecimal digits that identify the release follow."""
_GROUP_ROWS = 100
"""The number of rows in a row group, which readers load as a whole."""


def configurations(manifest: Manifest, files: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return the name, split and file of each configuration of a release with Parquet files."""
    paths = {PurePosixPath(path).stem: path for path in files}
    return [(_configuration(s.id), s.role, paths[_configuration(s.id)]) for s in manifest.sets]


def check_parquet(manifest: Manifest) -> None:
    """Raise `BuildError` if pyarrow is missing, or two sets would have the same configuration."""
    if importlib.util.find_spec("pyarrow") is None:
        raise BuildError(f"--parquet needs pyarrow, which is not installed. {install_extra('hub')}")
    if len({_configuration(s.id) for s in manifest.sets}) < len(manifest.sets):
        raise BuildError(
            "The ids of two sets differ only in '/' and '-', so they would have the same configuration. Omit --parquet."
        )


def write_parquet(data: Dataset, out: Path, progress: ProgressCallback) -> None:
    """Write one Parquet file per set, and then a file with the hashes of all of them."""
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
        path = out / f"{_configuration(set_id)}.parquet"
        with replacing(path) as part, ParquetWriter(part, schema, compression="none") as file:
            rows = encoded_rows(data[set_id], data.samples)
            while group := list(islice(rows, _GROUP_ROWS)):
                file.write_batch(pyarrow.RecordBatch.from_pylist(group, schema))
        sums[path.name] = sha256_file(path)
    write_atomic(out / SHA256SUMS, sums_bytes(sums))


def parquet_files(release: Path) -> list[FileRecord]:
    """Return the Parquet files of a release, or an empty list if it was packed without them."""
    return [
        FileRecord(path=f"{sums.parent.name}/{name}", bytes=(sums.parent / name).stat().st_size, sha256=sha256)
        for sums in release.glob(f"{PARQUET}*/{SHA256SUMS}")
        for name, sha256 in parse_sha256sums(sums.read_bytes())[0].items()
    ]


def _configuration(set_id: str) -> str:
    return set_id.replace("/", "-")
