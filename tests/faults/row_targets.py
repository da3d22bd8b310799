"""Fuzzed readers of archives and rows: tar, IDX, CIFAR, .npy, HDF5; tarfile, pickle, numpy and a few lines of struct
are the oracles.
"""

from __future__ import annotations

import gzip
import io
import pickle
import random
import struct
import tarfile
from collections.abc import Sequence
from typing import Any

import archives
import h5py
import numpy as np
from image_targets import save, strict
from mutating import mutate
from target import RGB, Target

from corruptset.errors import VerificationError
from corruptset.generate.sources.source import BadSample, open_source
from corruptset.generate.sources.tarred import list_tar
from corruptset.manifests.images.arrays import ArrayFile, NotAShard


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
        tar = list_tar(path)
        assert all(".." not in name.split("/") and not name.startswith("/") for name in tar.files)
        good = 0
        for sample in source.samples:
            place = sample.place
            assert (
                data[place.offset : place.offset + place.size]
                == held[next(n for n, p in tar.files.items() if p == place)]
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


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


class Idx(Target):
    """``mnist:FOLDER``: the file of images or of labels is mutated, the other one is whole."""

    suffix = ""

    def make(self) -> Sequence[bytes]:
        self.images = archives.idx(RGB[:, :, :28, 0].reshape(-1, 28)[:56].reshape(2, 28, 28))
        self.labels = archives.idx([3, 9])
        return [self.pack(b"I" + self.images)[0], self.pack(b"L" + self.labels)[0]]

    def pack(self, data: bytes) -> tuple[bytes, bytes]:
        """Return (a letter that says which file and its bytes, the bytes)."""
        return data, data[1:]

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.files)
        return data[:1] + mutate(data[1:], rng, others=[self.images, self.labels])

    def try_one(self, data: bytes) -> None:
        which, content = data[:1], data[1:]
        self.put(f"m/t10k-images-idx3-ubyte{self.suffix}", content if which == b"I" else self.wrapped(self.images))
        self.put(f"m/t10k-labels-idx1-ubyte{self.suffix}", content if which == b"L" else self.wrapped(self.labels))
        source = open_source(f"mnist:{self.folder / 'm'}")
        plain = self.unwrapped(content)
        images = plain if which == b"I" else self.images
        count, height, width = struct.unpack(">3I", images[4:16])
        pixels = np.frombuffer(images, np.uint8, offset=16).reshape(count, height, width, 1)
        labels = (plain if which == b"L" else self.labels)[8:]
        assert [s.label for s in source.samples] == list(labels)
        for sample in source.samples:
            np.testing.assert_array_equal(source.load(sample).image, pixels[sample.index])

    def wrapped(self, data: bytes) -> bytes:
        return data

    def unwrapped(self, data: bytes) -> bytes:
        return data


class IdxZipped(Idx):
    suffix = ".gz"

    def make(self) -> Sequence[bytes]:
        return [data[:1] + zipped(data[1:]) for data in super().make()]

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.files)
        if rng.random() < 0.5:
            return data[:1] + zipped(mutate(gzip.decompress(data[1:]), rng))
        return data[:1] + mutate(data[1:], rng, others=[f[1:] for f in self.files])

    def wrapped(self, data: bytes) -> bytes:
        return zipped(data)

    def unwrapped(self, data: bytes) -> bytes:
        return gzip.decompress(data)


class Cifar(Target):
    """``cifar10:FOLDER``: the batch or the meta is mutated."""

    form = "python"
    names = ("test_batch", "batches.meta")

    def make(self) -> Sequence[bytes]:
        rows = archives.crops(3, seed=5)
        whole: list[dict[str, bytes]] = []
        for dump in [archives.python2_batch, *(archives.modern_batch(p) for p in (2, 3, 4, 5))]:
            given = archives.ten_python(rows, dump=dump) if self.form == "python" else archives.ten_binary(rows)
            whole.append({name.rpartition("/")[2]: data for name, data in given.items()})
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
        images = np.stack([source.load(s).image for s in source.samples])
        labels = [s.label for s in source.samples]
        names = [c.name for c in source.classes]
        self.compare(given, images, labels, names)

    def compare(self, given: dict[str, bytes], images: np.ndarray, labels: list[int], names: list[str]) -> None:
        try:
            batch = {text(k): v for k, v in plain_pickle(given["test_batch"]).items()}
            meta = {text(k): v for k, v in plain_pickle(given["batches.meta"]).items()}
            rows = np.asarray(batch["data"]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        except Exception:
            # Ours does not mind a wrong frame length or memo; the rows must still be a stretch of the file.
            raw = given["test_batch"]
            for image in images:
                row = image.transpose(2, 0, 1).tobytes()
                assert row in raw or row.decode("latin-1").encode() in raw
            return
        np.testing.assert_array_equal(images, rows)
        assert labels == [int(v) for v in batch["labels"]]
        assert names == [text(n) for n in meta["label_names"]]


def text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return bytes(value).decode("latin-1")


class _Stub:
    """In place of numpy's classes, whose own way to take a state crashes the interpreter on some damaged ones."""

    state: Any = None

    def __init__(self, *given: Any) -> None:
        self.given = given

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> np.ndarray:
        _, shape, dtype, fortran, data = self.state
        assert not fortran or shape[0] == 1
        name = text(dtype.given[0]).lstrip("<>|")
        return np.frombuffer(data.encode("latin-1") if isinstance(data, str) else data, dtype.order() + name).reshape(
            shape
        )

    def order(self) -> str:
        return text(self.state[1]).replace("|", "=")


class _Plain(pickle._Unpickler):  # type: ignore[name-defined]
    """Python's own unpickler, not the one in C, with the names that batches need."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return lambda value, coding: value.encode(coding)
        if (module, name) in (("__builtin__", "bytes"), ("builtins", "bytes")):
            return bytes
        if module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return _Stub
        if module.split(".")[0] == "numpy" and name == "_frombuffer":
            return lambda data, dtype, shape, order: np.frombuffer(data, dtype.order() + text(dtype.given[0])).reshape(
                shape
            )
        raise pickle.UnpicklingError(name)


def plain_pickle(data: bytes) -> Any:
    """Return what a pickle holds."""
    found = _Plain(io.BytesIO(data), encoding="bytes").load()
    return {key: value.array() if isinstance(value, _Stub) else value for key, value in found.items()}


class CifarBinary(Cifar):
    form = "binary"
    names = ("test_batch.bin", "batches.meta.txt")

    def compare(self, given: dict[str, bytes], images: np.ndarray, labels: list[int], names: list[str]) -> None:
        rows = np.frombuffer(given["test_batch.bin"], np.uint8).reshape(-1, 3073)
        np.testing.assert_array_equal(images, rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        assert labels == rows[:, 0].tolist()
        lines = given["batches.meta.txt"].decode("utf-8", "replace").splitlines()
        assert names == [line.strip() for line in lines if line.strip()]


class CifarArchive(Cifar):
    """The tar.gz: half of the time the tar within is mutated, else what is compressed."""

    def make(self) -> Sequence[bytes]:
        files = archives.ten_python(archives.crops(3, seed=5))
        return [
            archives.tar(self.folder / "made.tar.gz", files, "w:gz", format=f).read_bytes()
            for f in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT)
        ]

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.files)
        if rng.random() < 0.6:
            inner = mutate(gzip.decompress(data), rng)
            return zipped(sealed_tar(inner) if rng.random() < 0.6 else inner)
        return mutate(data, rng, others=self.files)

    def try_one(self, data: bytes) -> None:
        path = self.put("x.tar.gz", data)
        source = open_source(f"cifar10:{path}")
        images = np.stack([source.load(s).image for s in source.samples])
        with tarfile.open(path) as archive:
            given = {m.name.rpartition("/")[2]: archive.extractfile(m).read() for m in archive if m.isreg()}  # type: ignore[union-attr]
        self.compare(given, images, [s.label for s in source.samples], [c.name for c in source.classes])


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


class Array(Npy):
    """An array of a view, as `open` and `verify` map it."""

    def make(self) -> Sequence[bytes]:
        return [data for data in super().make() if data[:1] == b"I"][:2]

    def try_one(self, data: bytes) -> None:
        path = self.put("x.npy", data[1:])
        try:
            array = ArrayFile(path)
        except NotAShard as e:
            raise VerificationError(str(e)) from None
        np.testing.assert_array_equal(array.block(0, array.rows), np.load(path, allow_pickle=False))
        assert all(np.array_equal(array.row(i), row) for i, row in enumerate(array.stream(0, array.rows)))


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
