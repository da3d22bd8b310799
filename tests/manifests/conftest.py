"""Small, complete, valid data sets, written by hand: the tests hold the readers to the format, not to the builder."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image

from corruptset.manifests.checksums import sha256sums_bytes
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.disk.jsonl import json_line
from corruptset.manifests.layout import set_path
from corruptset.manifests.manifest_file import manifest_bytes
from corruptset.manifests.records.digests import build_digest, set_digest, sha256_bytes, sha256_file, source_digest
from corruptset.manifests.records.models import (
    ClassRecord,
    FileRecord,
    ImageRecord,
    Manifest,
    SampleRecord,
    SetRecord,
    StageRecord,
    StoredRecord,
)
from corruptset.pixels import pixel_digest

FOG = {"corruption": "fog", "revision": 1, "severity": 3, "level": None, "parameters": {"amount": 2.5, "decay": 1.7}}
NOISE = {"corruption": "gaussian_noise", "revision": 2, "severity": 5, "level": None, "parameters": {"sigma": 0.38}}
SETS: list[tuple[str, list[str], list[dict[str, Any]]]] = [
    ("clean", ["original"], []),
    ("fog-3+gaussian_noise-5", [], [FOG, NOISE]),
    ("fog/3", ["Fog, severity 3"], [FOG]),
]
CLASSES = [ClassRecord(index=0, name="käfer", folder="0_käfer"), ClassRecord(index=1, name="a dog", folder="1 a dog")]
SAMPLE_IDS = ["0_käfer/bild eins", "0_käfer/zwei", "1 a dog/deep/rex", "1 a dog/Ünal 7", "plain_stem"]
LABELS = [0, 0, 1, 1, 1]


def draw(set_number: int, index: int, shape: tuple[int, int, int]) -> np.ndarray:
    """Return pixels that are smooth enough for JPEG and differ between images."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    base = 8 * y + 5 * x + 40 * index + 90 * set_number
    return np.stack([(base * (c + 1)) % 256 for c in range(shape[2])], axis=-1).astype(np.uint8)


def encode(image: np.ndarray, encoding_format: str) -> bytes:
    out = io.BytesIO()
    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    picture.save(
        out, "JPEG" if encoding_format == "jpeg" else "PNG", **({"quality": 85} if encoding_format == "jpeg" else {})
    )
    return out.getvalue()


BUILD = "tiny-c 1.0.0"


def shard_bytes(
    rows: list[bytes] | np.ndarray, labels: list[int], index: list[int], digests: list[str], set_id: str
) -> bytes:
    out = io.BytesIO()
    with h5py.File(out, "w", libver=("earliest", "v110"), track_order=False) as f:
        f.attrs["corruptset_schema"] = np.int64(1)
        f.attrs["set"] = set_id
        f.attrs["build"] = BUILD
        f.attrs["encoding"] = "raw" if isinstance(rows, np.ndarray) else "jpeg"
        if isinstance(rows, np.ndarray):
            f.create_dataset("images", data=rows, chunks=(min(len(rows), 64), *rows.shape[1:]), track_times=False)
        else:
            encoded = f.create_dataset("encoded", (len(rows),), dtype=h5py.vlen_dtype(np.uint8), track_times=False)
            for i, row in enumerate(rows):
                encoded[i] = np.frombuffer(row, np.uint8)
            encoded.attrs["encoding"] = "jpeg"
        f.create_dataset("labels", data=np.array(labels, np.int64), track_times=False)
        f.create_dataset("index", data=np.array(index, np.int64), track_times=False)
        pixels = np.array([list(bytes.fromhex(d.removeprefix("blake3:"))) for d in digests], np.uint8)
        f.create_dataset("pixels", data=pixels, track_times=False)
    return out.getvalue()


def image_path(set_id: str, sample: SampleRecord, encoding_format: str) -> str:
    folder = CLASSES[sample.label].folder
    suffix = "JPEG" if encoding_format == "jpeg" else "png"
    return f"images/{set_id}/{folder}/{sample.id.removeprefix(folder + '/')}.{suffix}"


def finish(root: Path, manifest: dict[str, Any]) -> None:
    """Write manifest.json and SHA256SUMS over what lies in the directory."""
    whole = [
        p
        for p in sorted(root.rglob("*"))
        if p.is_file() and p.relative_to(root).parts[0] not in ("images", "manifest.json", "SHA256SUMS")
    ]
    files = [
        FileRecord(path=p.relative_to(root).as_posix(), bytes=p.stat().st_size, sha256=sha256_file(p)) for p in whole
    ]
    files.sort(key=lambda f: f.path)
    data = manifest_bytes(Manifest(**{**manifest, "files": files}))
    write_atomic(root / "manifest.json", data)
    own = FileRecord(path="manifest.json", bytes=len(data), sha256=sha256_bytes(data))
    write_atomic(root / "SHA256SUMS", sha256sums_bytes([*files, own]))


def write_dataset(
    root: Path,
    *,
    encoding_format: str = "png",
    containers: tuple[str, ...] = ("folder", "hdf5"),
    uniform: bool = True,
    repeat: int = 1,
    shard_rows: int = 2,
) -> Path:
    """Write a valid data set of three sets of five samples, several shards a set; return its directory.

    Where sizes are not uniform, they and the number of channels change from sample to sample, and with them the shard.
    """
    root.mkdir(parents=True)
    shapes = [(16, 20, 3)] * 5 if uniform else [(16, 20, 3), (16, 20, 3), (9, 31, 3), (12, 8, 1), (12, 8, 1)]
    ids = [id if r == 0 else f"{id}~{r}" for r in range(repeat) for id in SAMPLE_IDS]
    labels = LABELS * repeat
    samples = []
    for i, (id, label) in enumerate(zip(ids, labels, strict=True)):
        clean = draw(0, i, shapes[i % 5])
        samples.append(
            SampleRecord(
                index=i, id=id, label=label, split=None, path=f"{id}.jpg", sha256=sha256_bytes(id.encode()),
                width=clean.shape[1], height=clean.shape[0], pixels=pixel_digest(clean),
                **{"class": CLASSES[label].name},
            )
        )  # fmt: skip
    (root / "samples.jsonl").write_bytes(b"".join(map(json_line, samples)))
    sets = []
    for number, (set_id, aliases, stages) in enumerate(SETS):
        images = [draw(number, i, shapes[i % 5]) for i in range(len(samples))]
        digests = [pixel_digest(i) for i in images]
        stored: list[list[StoredRecord]] = [[] for _ in images]
        if "folder" in containers:
            for i, image in enumerate(images):
                path = root / image_path(set_id, samples[i], encoding_format)
                path.parent.mkdir(parents=True, exist_ok=True)
                data = encode(image, encoding_format)
                path.write_bytes(data)
                where = path.relative_to(root).as_posix()
                stored[i].append(StoredRecord(path=where, row=None, bytes=len(data), sha256=sha256_bytes(data)))
        if "hdf5" in containers:
            runs = [list(range(b, min(b + shard_rows, len(images)))) for b in range(0, len(images), shard_rows)]
            runs = [
                [i for i in run if images[i].shape == s]
                for run in runs
                for s in sorted({images[i].shape for i in run}, reverse=True)
            ]
            runs.sort()
            for shard, run in enumerate(runs):
                path = root / f"hdf5/{set_id}-{shard:05d}.h5"
                path.parent.mkdir(parents=True, exist_ok=True)
                rows = (
                    [encode(images[i], "jpeg") for i in run]
                    if encoding_format == "jpeg"
                    else [images[i].tobytes() for i in run]
                )
                whole = rows if encoding_format == "jpeg" else np.stack([images[i] for i in run])
                path.write_bytes(shard_bytes(whole, [labels[i] for i in run], run, [digests[i] for i in run], set_id))
                for row, i in enumerate(run):
                    where = path.relative_to(root).as_posix()
                    stored[i].append(
                        StoredRecord(path=where, row=row, bytes=len(rows[row]), sha256=sha256_bytes(rows[row]))
                    )
        rows = [ImageRecord(index=i, pixels=d, files=s) for i, (d, s) in enumerate(zip(digests, stored, strict=True))]
        (root / set_path(set_id)).parent.mkdir(parents=True, exist_ok=True)
        (root / set_path(set_id)).write_bytes(b"".join(map(json_line, rows)))
        flat = [f for s in stored for f in s]
        sets.append(
            SetRecord(
                id=set_id, aliases=aliases, stages=[StageRecord(**s) for s in stages], role="test", count=len(images),
                files=len(flat),
                bytes=sum(f.bytes for f in flat), pixel_digest=set_digest(digests),
                metrics={"images": len(images), "psnr": None, "ssim": 0.9, "changed": 1.0} if stages else None,
            )
        )  # fmt: skip
    (root / "contact.png").write_bytes(encode(draw(7, 7, (30, 40, 3)), "png"))
    (root / "README.md").write_text("A data set made by a test.\n")
    jpeg = {"quality": 85, "optimize": False, "subsampling": "4:2:0"} if encoding_format == "jpeg" else {}
    rows_of_samples = [(s.id, s.label, s.sha256) for s in samples]
    preprocessing = {"kind": "none"}
    finish(
        root,
        {
            "schema_version": 2,
            "name": "tiny-c",
            "version": "1.0.0",
            "digest": build_digest(
                seed=7, preprocessing=preprocessing, classes=CLASSES, samples=rows_of_samples,
                sets=[(s.id, [t.as_json() for t in s.stages], s.count, s.pixel_digest) for s in sets],
            ),
            "seed": 7,
            "coupling": "independent",
            "scale": "none",
            "recipe": {"name": "tiny-c", "version": "1.0.0", "sets": [{"clean": True}]},
            "source": {"name": "folder", "digest": source_digest(rows_of_samples), "license": "CC0-1.0"},
            "preprocessing": preprocessing,
            "encoding": {"format": encoding_format, **jpeg, "containers": list(containers)},
            "textures": [],
            "revisions": {"fog": 1, "gaussian_noise": 2},
            "classes": CLASSES,
            "sets": sets,
            "excluded": [{"path": "0_käfer/broken.jpg", "reason": "truncated"}],
            "selection": {"total": 6},
            "views": [],
            "environment": {"numpy": "2.0.0"},
        },
    )  # fmt: skip
    return root


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that writes each kind of data set once."""
    made: dict[tuple[Any, ...], Path] = {}

    def make(**options: Any) -> Path:
        key = tuple(sorted(options.items()))
        if key not in made:
            made[key] = write_dataset(tmp_path_factory.mktemp("template") / "tiny-c-1.0.0", **options)
        return made[key]

    return make


@pytest.fixture
def dataset(tmp_path: Path, templates: Callable[..., Path]) -> Callable[..., Path]:
    """Return a function that gives a data set of one's own, to read or to damage; options as of write_dataset."""
    made = []

    def make(**options: Any) -> Path:
        made.append(tmp_path / f"out {len(made)}" / "tiny-c-1.0.0")
        shutil.copytree(templates(**options), made[-1])
        return made[-1]

    return make
