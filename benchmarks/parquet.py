"""Compare the time to check a Parquet source with the time to read and decode it: ``python -m benchmarks.parquet``.

The files contain 32x32 PNGs. Some have row groups of 100 rows, as `datasets` writes them, and some have one row group
per file, as pyarrow writes them by default. One process checks the images, as is done before a build. The lower limit
is the time in which pyarrow and Pillow read and decode the same images. The two are measured alternately. The medians
of processor seconds are compared, because they depend less on other programs than elapsed times do.
"""

from __future__ import annotations

import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from .sources import CLASSES, crops
from .timing import child, memory, options, processor_seconds, save, show

FILES = 4


def encode(count: int) -> list[dict[str, Any]]:
    """Return `count` PNGs in the form of rows of an image column."""
    images = []
    for crop in crops(count):
        buffer = io.BytesIO()
        Image.fromarray(crop).save(buffer, "PNG")
        images.append({"bytes": buffer.getvalue(), "path": None})
    return images


def write(folder: Path, images: Sequence[dict[str, Any]], rows_per_group: int | None) -> None:
    """Write images to Parquet files with the columns and the metadata that `datasets` uses."""
    import pyarrow
    from pyarrow import parquet

    features = {"img": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": CLASSES}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    kind = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(images)), FILES)):
        columns = [pyarrow.array([images[i] for i in part], kind), pyarrow.array(part % len(CLASSES))]
        table = pyarrow.table(columns, ["img", "label"]).replace_schema_metadata(metadata)
        file = folder / f"test-{number:05d}-of-{FILES:05d}.parquet"
        parquet.write_table(table, file, row_group_size=rows_per_group)


def decode_all(folder: Path) -> int:
    """Read and decode all images with pyarrow and Pillow, and return the number of images."""
    from pyarrow import parquet

    count = 0
    for file in sorted(folder.iterdir()):
        for batch in parquet.ParquetFile(file).iter_batches(256, columns=["img.bytes"], use_threads=False):
            for image in batch.column(0).field("bytes").to_pylist():
                np.asarray(Image.open(io.BytesIO(image)))
                count += 1
    return count


def check_all(folder: Path) -> int:
    """Check all images, as is done before a build, and return the number of usable images."""
    from corruptset.generate.sources.check import check
    from corruptset.generate.sources.source import open_source

    source = open_source(f"parquet:{folder}")
    return len(check(source, source.samples).good)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Return the number of images, the seconds and the peak memory for one way to read a folder."""
    read = {"decode": decode_all, "check": check_all}[task["read"]]
    read(Path(task["warm_up"]))  # so that imports are not measured
    processor, start = processor_seconds(), time.perf_counter()
    count = read(Path(task["folder"]))
    return {
        "images": count,
        "processor_seconds": processor_seconds() - processor,
        "seconds": time.perf_counter() - start,
        "memory": memory(),
    }


def main() -> None:
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(measure(json.loads(sys.argv[1]))))
        return
    parser = options(__doc__, repeats=3)
    parser.add_argument("--count", type=int, default=100_000, help="number of images")
    given = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        images = encode(given.count)
        write(root / "warm_up", images[:FILES], None)
        for rows_per_group, count in ((100, given.count), (100, given.count // 10), (None, given.count)):
            folder = root / f"{rows_per_group}-{count}"
            write(folder, images[:count], rows_per_group)
            runs: dict[str, list[dict[str, Any]]] = {"decode": [], "check": []}
            for _ in range(given.repeats):
                for read, results in runs.items():
                    task = {"read": read, "folder": str(folder), "warm_up": str(root / "warm_up")}
                    results.append(child("parquet", task))
            assert {result["images"] for results in runs.values() for result in results} == {count}
            median = {
                read: {key: statistics.median(result[key] for result in results) for key in results[0]}
                for read, results in runs.items()
            }
            figures.append({"images": count, "rows_per_group": rows_per_group, **median})
    save(given.json, figures)
    show(
        "Check of Parquet files with PNGs of 32x32 pixels, one process",
        ["images", "rows per group", "pyarrow and Pillow", "check", "ratio", "elapsed", "memory", "memory of check"],
        [
            [
                f"{row['images']:,}",
                str(row["rows_per_group"] or "all"),
                f"{row['decode']['processor_seconds']:.2f} s",
                f"{row['check']['processor_seconds']:.2f} s",
                f"{row['check']['processor_seconds'] / row['decode']['processor_seconds']:.2f}",
                f"{row['decode']['seconds']:.1f} s, {row['check']['seconds']:.1f} s",
                f"{row['decode']['memory'] / 2**20:.0f} MiB",
                f"{row['check']['memory'] / 2**20:.0f} MiB",
            ]
            for row in figures
        ],
    )


if __name__ == "__main__":
    main()
