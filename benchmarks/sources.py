"""Make sources for benchmarks from the sample photographs: JPEG files, and files in the formats of CIFAR and MNIST."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corruptset.generate.sources.source import open_source

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def photographs(folder: Path, count: int) -> str:
    """Write `count` JPEG files of 500x375 pixels to four class folders, and return the source as text."""
    source = open_source("sample")
    photos = [Image.fromarray(source.load(sample).image) for sample in source.samples]
    for i in range(count):
        photo = photos[i % len(photos)]
        scale = 1 - 0.6 * (i // len(photos)) / max(count // len(photos), 1)
        width, height = int(photo.width * scale), int(photo.height * scale)
        crop = photo.crop((0, 0, width, height)).resize((500, 375), Image.Resampling.LANCZOS)
        path = folder / f"class_{i % 4}" / f"image_{i:05d}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        crop.save(path, quality=90)
    return f"folder:{folder}"


def crops(count: int, side: int = 32) -> NDArray[np.uint8]:
    """Return crops of the sample photographs as a (count, side, side, 3) array.

    No position in a photograph is repeated until all positions have been used.
    """
    source = open_source("sample")
    photos = [source.load(sample).image for sample in source.samples]
    out = np.empty((count, side, side, 3), np.uint8)
    for i in range(count):
        photo = photos[i % len(photos)]
        # 7919 is a prime that does not divide the number of positions of any photograph
        height, width = photo.shape[0] - side, photo.shape[1] - side
        place = (i // len(photos)) * 7919 % (height * width)
        y, x = divmod(place, width)
        out[i] = photo[y : y + side, x : x + side]
    return out


def cifar(folder: Path, count: int) -> str:
    """Write `count` images as the test batch in ``cifar-10-python.tar.gz``, and return the source as text."""
    folder.mkdir(parents=True)
    path = folder / "cifar-10-python.tar.gz"
    # Each row has 3072 bytes: the red plane, then the green one, then the blue one.
    rows = np.ascontiguousarray(crops(count).transpose(0, 3, 1, 2)).reshape(count, -1)
    files = {
        "batches.meta": {"num_cases_per_batch": count, "label_names": list(CLASSES), "num_vis": rows.shape[1]},
        "test_batch": {b"data": rows, b"labels": [i * 7 % len(CLASSES) for i in range(count)]},
    }
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        for name, content in files.items():
            data = pickle.dumps(content, protocol=2)
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return f"cifar10:{path}"


def mnist(folder: Path, count: int) -> str:
    """Write `count` grey images to files in the format of MNIST, and return the source as text.

    All images are in the test split. The training split has only one image.
    """
    folder.mkdir(parents=True, exist_ok=True)
    grey = crops(count, 28).mean(axis=3).astype(np.uint8)
    for split, images in (("train", grey[:1]), ("t10k", grey)):
        labels = (np.arange(len(images)) * 7 % 10).astype(np.uint8)
        head = struct.pack(">IIII", 2051, len(images), 28, 28)
        (folder / f"{split}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes(), 1))
        (folder / f"{split}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">II", 2049, len(labels)) + labels.tobytes(), 1)
        )
    return f"mnist:{folder}"
