"""Fuzzed readers of archives and rows: tar, IDX, CIFAR, .npy, HDF5; tarfile, pickle, numpy and a few lines of struct
are the oracles.
"""

from __future__ import annotations

import io
import random
import struct
import tarfile
from collections.abc import Sequence

import archives
import h5py
import numpy as np
from image_targets import save, strict
from mutating import mutate
from target import RGB, Target

from corruptset.generate.sources.source import BadSample, open_source
from corruptset.generate.sources.tarred import list_tar


class TarFolder(Target):
    """``folder:x.tar``."""

    def make(self) -> Sequence[bytes]:
        pictures = {
            f"{c}/{i}.{s}": save(k, which=i % 2)
            for i, (c, k, s) in enumerate(
                [("cat", "JPEG", "jpg"), ("cat", "PNG", "png"), ("dog", "PNG", "png"), ("dog", "JPEG", "jpeg")]
            )
        }
        made = []
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            long = pictures | {f"dog/{'ü' * 60}{form}.png": pictures["dog/2.png"]}
            made.append(
                archives.tar(
                    self.folder / "made.tar", pictures if form == tarfile.USTAR_FORMAT else long, format=form
                ).read_bytes()
            )
        return made

    def mutated(self, rng: random.Random) -> bytes:
        data = super().mutated(rng)
        return sealed_tar(data) if rng.random() < 0.6 else data

    def try_one(self, data: bytes) -> None:
        path = self.put("x.tar", data)
        source = open_source(f"folder:{path}")
        held = {}
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isreg():
                    held.setdefault(member.name.removeprefix("./"), archive.extractfile(member).read())  # type: ignore[union-attr]
        files, _ = list_tar(path)
        assert all(".." not in name.split("/") and not name.startswith("/") for name in files)
        good = 0
        for sample in source.samples:
            place = sample.place
            assert (
                data[place.offset : place.offset + place.size] == held[next(n for n, p in files.items() if p == place)]
            )
            try:
                image = source.load(sample).image
            except BadSample:
                continue
            good += 1
            expected = strict(data[place.offset : place.offset + place.size])
            if expected is not None:
                np.testing.assert_array_equal(image, expected)
        if not good or source.notes:
            raise BadSample("nothing good in it, or something that is listed")


def sealed_tar(data: bytes) -> bytes:
    """Return a tar whose headers have right checksums."""
    out = bytearray(data)
    for at in range(0, len(out) - 511, 512):
        if out[at + 257 : at + 262] == b"ustar":
            out[at + 148 : at + 156] = b" " * 8
            out[at + 148 : at + 156] = b"%06o\0 " % sum(out[at : at + 512])
    return bytes(out)


class Idx(Target):
    """``mnist:FOLDER``: the file of images or of labels is mutated, the other one is whole."""

    def make(self) -> Sequence[bytes]:
        self.images = archives.idx(RGB[:, :, :28, 0].reshape(-1, 28)[:56].reshape(2, 28, 28))
        self.labels = archives.idx([3, 9])
        return [b"I" + self.images, b"L" + self.labels]

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.files)
        return data[:1] + mutate(data[1:], rng, others=[self.images, self.labels])

    def try_one(self, data: bytes) -> None:
        which, content = data[:1], data[1:]
        images, labels = (content, self.labels) if which == b"I" else (self.images, content)
        self.put("m/t10k-images-idx3-ubyte", images)
        self.put("m/t10k-labels-idx1-ubyte", labels)
        source = open_source(f"mnist:{self.folder / 'm'}")
        count, height, width = struct.unpack(">3I", images[4:16])
        pixels = np.frombuffer(images, np.uint8, offset=16).reshape(count, height, width, 1)
        assert [s.label for s in source.samples] == list(labels[8:])
        for sample in source.samples:
            np.testing.assert_array_equal(source.load(sample).image, pixels[sample.index])


class Cifar(Target):
    """``cifar10:FOLDER``: the batch or the meta is mutated."""

    names = ("test_batch", "batches.meta")

    def make(self) -> Sequence[bytes]:
        rows = archives.crops(3, seed=5)
        dumps = [archives.python2_batch, *(archives.modern_batch(p) for p in (2, 3, 4, 5))]
        whole = [
            {name.rpartition("/")[2]: data for name, data in archives.ten_python(rows, dump=dump).items()}
            for dump in dumps
        ]
        self.whole = whole[0]
        return [bytes([k]) + one[name] for one in whole for k, name in enumerate(self.names)]

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.files)
        return data[:1] + mutate(data[1:], rng, others=[f[1:] for f in self.files], text=data[0] == 1)

    def try_one(self, data: bytes) -> None:
        given = {**self.whole, self.names[data[0]]: data[1:]}
        for name, content in given.items():
            self.put(f"c/{name}", content)
        source = open_source(f"cifar10:{self.folder / 'c'}")
        raw = given["test_batch"]
        assert {s.label for s in source.samples} <= {c.index for c in source.classes}
        for sample in source.samples:  # each row is a stretch of the file, as bytes or as text whose letters they are
            row = source.load(sample).image.transpose(2, 0, 1).tobytes()
            assert row in raw or row.decode("latin-1").encode() in raw


class Npy(Target):
    def make(self) -> Sequence[bytes]:
        made = []
        for letter, values in (
            (b"I", RGB),
            (b"I", RGB[..., 0]),
            (b"L", np.array([1, 4])),
            (b"L", np.array([2, 0], np.uint8)),
        ):
            for version in ((1, 0), (2, 0)):
                out = io.BytesIO()
                np.lib.format.write_array(out, np.ascontiguousarray(values), version=version)
                made.append(letter + out.getvalue())
        return made

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.files)
        return data[:1] + mutate(data[1:], rng, others=[f[1:] for f in self.files], text=rng.random() < 0.5)

    def try_one(self, data: bytes) -> None:
        images, labels = self.put("i.npy", self.files[0][1:]), self.put("l.npy", self.files[4][1:])
        (images if data[:1] == b"I" else labels).write_bytes(data[1:])
        source = open_source(f"npy:{images},{labels}")
        stored = np.load(images, allow_pickle=False)
        assert [s.label for s in source.samples] == np.load(labels, allow_pickle=False).tolist()
        for sample in source.samples:
            image = source.load(sample).image
            np.testing.assert_array_equal(image, stored[sample.index].reshape(image.shape))


class Hdf5(Target):
    """``hdf5:FILE``: pixels, compressed pixels, encoded images."""

    def make(self) -> Sequence[bytes]:
        made = []
        for which in ("plain", "compressed", "encoded", "checked"):
            path = self.folder / "made.h5"
            with h5py.File(path, "w") as file:
                if which == "encoded":
                    rows = file.create_dataset("images", (2,), h5py.vlen_dtype(np.uint8))
                    for i in range(2):
                        rows[i] = np.frombuffer(save("JPEG", which=i), np.uint8)
                else:
                    more = (
                        {"compression": "gzip"}
                        if which == "compressed"
                        else {"fletcher32": True}
                        if which == "checked"
                        else {}
                    )
                    file.create_dataset("images", data=RGB, chunks=(1, 32, 32, 3) if more else None, **more)
                file["labels"] = np.array([1, 0])
            made.append(path.read_bytes())
        return made

    def try_one(self, data: bytes) -> None:
        source = open_source(f"hdf5:{self.put('x.h5', data)}")
        with h5py.File(self.folder / "x.h5", "r", locking=False) as file:
            labels, rows = file["labels"][()].tolist(), file["images"]
            assert [s.label for s in source.samples] == labels
            for sample in source.samples[:64]:
                image = source.load(sample).image
                row = np.asarray(rows[sample.index])
                expected = strict(row.tobytes()) if row.ndim == 1 else row
                if expected is not None:
                    np.testing.assert_array_equal(image, expected.reshape(image.shape))


# Text
