"""Small, complete datasets whose records are written by hand, to test readers against the documented format."""

import io
import shutil
from itertools import groupby

import numpy as np
import pytest
from PIL import Image

from corruptset.manifests.checksums import sha256sums_bytes
from corruptset.manifests.disk.jsonl import json_line
from corruptset.manifests.images.shard_writer import shard_pieces
from corruptset.manifests.manifest_file import manifest_bytes
from corruptset.manifests.records.digests import build_digest, set_digest, sha256_bytes, source_digest
from corruptset.manifests.records.models import (
    ClassRecord,
    FileRecord,
    ImageRecord,
    Manifest,
    SampleRecord,
    SetRecord,
)
from corruptset.pixels import pixel_digest

FOG = {"corruption": "fog", "revision": 1, "severity": 3, "level": None, "parameters": {"amount": 2.5, "decay": 1.7}}
NOISE = {"corruption": "gaussian_noise", "revision": 2, "severity": 5, "level": None, "parameters": {"sigma": 0.38}}
SETS = [
    ("clean", ["original"], []),
    ("fog-3+gaussian_noise-5", [], [FOG, NOISE]),
    ("fog/3", ["Fog, severity 3"], [FOG]),
]
CLASSES = [ClassRecord(index=0, name="käfer", folder="0_käfer"), ClassRecord(index=1, name="a dog", folder="1 a dog")]
SAMPLE_IDS = ["0_käfer/bild eins", "0_käfer/zwei", "1 a dog/deep/rex", "1 a dog/Ünal 7", "plain_stem"]
LABELS = [0, 0, 1, 1, 1]


def draw(set_number, index, shape):
    """Return pixels that are smooth enough for JPEG and differ between images."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    base = 8 * y + 5 * x + 40 * index + 90 * set_number
    return np.stack([(base * (c + 1)) % 256 for c in range(shape[2])], axis=-1).astype(np.uint8)


def encode(image, encoding_format):
    out = io.BytesIO()
    pil_image = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    pil_image.save(out, encoding_format, **({"quality": 85} if encoding_format == "jpeg" else {}))
    return out.getvalue()


def write_dataset(
    root,
    *,
    encoding_format="png",
    containers=("folder", "hdf5"),
    uniform=True,
    repeat=1,
    shard_rows=2,
):
    """Write a valid dataset with three sets of five samples and several shards per set, and return its directory.

    If sizes are not uniform, they and the number of channels change between samples, and a new shard begins.
    """
    count, suffix = 5 * repeat, {"jpeg": "JPEG", "png": "png"}[encoding_format]
    shapes = [(16, 20, 3)] * 5 if uniform else [(16, 20, 3), (16, 20, 3), (9, 31, 3), (12, 8, 1), (12, 8, 1)]
    labels = LABELS * repeat
    kept_rows = []

    def write(path, data):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
        if not path.startswith("images/"):
            kept_rows.append(FileRecord(path=path, bytes=len(data), sha256=sha256_bytes(data)))

    samples, sets = [], []
    for i in range(count):
        clean, id = draw(0, i, shapes[i % 5]), SAMPLE_IDS[i % 5] + f"~{i // 5}" * (i > 4)
        row = {"index": i, "id": id, "label": labels[i], "class": CLASSES[labels[i]].name, "split": None}
        row |= {"path": f"{id}.jpg", "sha256": sha256_bytes(id.encode()), "pixels": pixel_digest(clean)}
        samples.append(SampleRecord.model_validate(row | {"width": clean.shape[1], "height": clean.shape[0]}))
    write("samples.jsonl", b"".join(map(json_line, samples)))
    for number, (set_id, aliases, stages) in enumerate(SETS):
        images = [draw(number, i, shapes[i % 5]) for i in range(count)]
        digests = [pixel_digest(image) for image in images]
        encoded = [encode(image, encoding_format) for image in images]
        rows = [{"index": i, "pixels": d, "files": []} for i, d in enumerate(digests)]

        def stored(i, path, row, data, rows=rows):
            rows[i]["files"].append({"path": path, "row": row, "bytes": len(data), "sha256": sha256_bytes(data)})

        for i, data in enumerate(encoded if "folder" in containers else ()):
            folder = CLASSES[labels[i]].folder
            path = f"images/{set_id}/{folder}/{samples[i].id.removeprefix(folder + '/')}.{suffix}"
            write(path, data)
            stored(i, path, None, data)
        runs = groupby(range(count if "hdf5" in containers else 0), lambda i: (i // shard_rows, shapes[i % 5]))
        for shard, run in enumerate(list(group) for _, group in runs):
            path, is_jpeg = f"hdf5/{set_id}-{shard:05d}.h5", encoding_format == "jpeg"
            for row, i in enumerate(run):
                stored(i, path, row, encoded[i] if is_jpeg else images[i].tobytes())
            pieces = shard_pieces(
                [encoded[i] for i in run] if is_jpeg else np.stack([images[i] for i in run]),
                labels=[labels[i] for i in run],
                indices=run,
                pixels=[digests[i].removeprefix("blake3:") for i in run],
                set_id=set_id,
                build="tiny-c 1.0.0",
                encoding="jpeg" if is_jpeg else "raw",
            )
            write(path, b"".join(pieces))
        write(f"sets/{set_id}.jsonl", b"".join(json_line(ImageRecord.model_validate(row)) for row in rows))
        sizes = [file["bytes"] for row in rows for file in row["files"]]
        record = {"id": set_id, "aliases": aliases, "stages": stages, "role": "test", "count": count}
        record |= {"files": len(sizes), "bytes": sum(sizes), "pixel_digest": set_digest(digests)}
        metrics = {"images": count, "psnr": None, "ssim": 0.9, "changed": 1.0} if stages else None
        sets.append(SetRecord.model_validate(record | {"metrics": metrics}))
    write("contact.png", encode(draw(7, 7, (30, 40, 3)), "png"))
    write("README.md", b"A dataset for tests.\n")
    jpeg = {"quality": 85, "optimize": False, "subsampling": "4:2:0"} if encoding_format == "jpeg" else {}
    rows_of_samples, preprocessing = [(s.id, s.label, s.sha256) for s in samples], {"kind": "none"}
    digest = build_digest(
        seed=7,
        preprocessing=preprocessing,
        classes=CLASSES,
        samples=rows_of_samples,
        sets=[(s.id, [t.as_json() for t in s.stages], s.count, s.pixel_digest) for s in sets],
    )
    manifest = Manifest(
        schema_version=3,
        name="tiny-c",
        version="1.0.0",
        digest=digest,
        seed=7,
        coupling="independent",
        scale="none",
        recipe={"name": "tiny-c", "version": "1.0.0", "sets": [{"clean": True}]},
        source={"name": "folder", "digest": source_digest(rows_of_samples), "license": "CC0-1.0"},
        preprocessing=preprocessing,
        encoding={"format": encoding_format, **jpeg},
        storage={"container": "both" if len(containers) == 2 else containers[0]},
        textures=[],
        revisions={"fog": 1, "gaussian_noise": 2},
        classes=CLASSES,
        sets=sets,
        files=sorted(kept_rows, key=lambda f: f.path),
        excluded=[{"path": "0_käfer/broken.jpg", "reason": "truncated"}],
        selection={"total": 6},
        metrics_images=0,
        environment={"numpy": "2.0.0"},
    )
    write("manifest.json", manifest_bytes(manifest))
    write("SHA256SUMS", sha256sums_bytes(kept_rows))
    return root


@pytest.fixture(scope="session")
def templates(tmp_path_factory):
    """Return a function that creates each kind of dataset once. Tests must not change these datasets."""
    results = {}

    def make(**options):
        key = tuple(sorted(options.items()))
        if key not in results:
            results[key] = write_dataset(tmp_path_factory.mktemp("template") / "tiny-c-1.0.0", **options)
        return results[key]

    return make


@pytest.fixture
def dataset(tmp_path, templates):
    """Return a function that creates a copy of a dataset, which a test may change. It takes the options of
    `write_dataset`.
    """
    results = []

    def make(**options):
        results.append(tmp_path / f"out {len(results)}" / "tiny-c-1.0.0")
        shutil.copytree(templates(**options), results[-1])
        return results[-1]

    return make
