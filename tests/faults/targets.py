"""What is fuzzed: for each reader valid files, how they are mutated, and an oracle of its own for what is accepted.

`try_one` either raises one of the package's errors (refused) or returns after comparing what was read with what another
reader (Pillow, numpy, tarfile, tomllib, json, a few lines of struct) makes of the same bytes.
"""

from __future__ import annotations

import ctypes
import gzip
import io
import json
import os
import pickle
import random
import re
import resource
import shutil
import struct
import tarfile
import tomllib
import zlib
from collections.abc import Callable, Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import archives
import h5py
import numpy as np
from mutating import mutate
from PIL import Image, ImageFile

import corruptset
from corruptset.corruptions.calibrations import parse_table
from corruptset.errors import CorruptsetError, VerificationError
from corruptset.generate.decoding import decode, probe
from corruptset.generate.recipe import parse_recipe
from corruptset.generate.sources.base import BadSample, open_source
from corruptset.generate.sources.tarred import list_tar
from corruptset.manifests.arrays import ArrayFile, NotAShard
from corruptset.manifests.files import MANIFEST, SAMPLES, SHA256SUMS, parse_manifest, read_sha256sums, set_path
from corruptset.manifests.verifying import verify_directory

RGB = archives.crops(2, seed=3)[0]
"""(2, 32, 32, 3)"""


class Target:
    """A reader under test."""

    text = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: Sequence[bytes] = self.make()
        self.floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def make(self) -> Sequence[bytes]:
        """Return valid files."""
        raise NotImplementedError

    def mutated(self, rng: random.Random) -> bytes:
        return mutate(rng.choice(self.files), rng, others=self.files, text=self.text)

    def numbered(self, target: str, seed: int, number: int) -> bytes:
        """Return one mutation: the same each time."""
        return self.mutated(random.Random(f"{target}/{seed}/{number}"))

    def try_one(self, data: bytes) -> None:
        """Read and compare."""
        raise NotImplementedError

    def put(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
        return path


def replace_file(path: Path, data: bytes) -> None:
    """Put a new file in a file's place: HDF5 can loop for ever on one that is cut while it has it open."""
    part = path.with_name(path.name + ".new")
    part.write_bytes(data)
    os.replace(part, path)


# Images


class Images(Target):
    """`decode`, and `probe`, which must take and leave the same files."""

    def make(self) -> Sequence[bytes]:
        return [save(kind, **options) for kind, options in self.variants]

    variants: Sequence[tuple[str, dict[str, Any]]] = ()

    def try_one(self, data: bytes) -> None:
        sizes: list[object] = []
        for reader in (decode, probe):
            try:
                found = reader(data)
                sizes.append(found.shape if isinstance(found, np.ndarray) else (found[1], found[0], found[2]))
            except BadSample as e:
                if "MemoryError" in str(e):
                    raise
                sizes.append(None)
        assert sizes[0] == sizes[1], f"decode and probe disagree: {sizes}"
        pixels = decode(data)  # raises what was wrong
        expected = strict(data)
        if expected is not None:
            assert np.array_equal(pixels, expected)


def strict(data: bytes) -> np.ndarray | None:
    """Return what Pillow alone, strict about truncation, makes of a file; None where our rules convert."""
    assert not ImageFile.LOAD_TRUNCATED_IMAGES
    picture = Image.open(io.BytesIO(data))
    picture.load()
    array = np.asarray(picture)
    plain = {"L": lambda: array[..., None], "RGB": lambda: array, "RGBA": lambda: array[..., :3], "LA": lambda: array[..., :1]}
    plain["1"] = lambda: array.astype(np.uint8)[..., None] * 255
    plain["P"] = lambda: np.asarray(picture.convert("RGBA"))[..., :3]
    plain["CMYK"] = plain["YCbCr"] = lambda: np.asarray(picture.convert("RGB"))
    plain["I;16"] = plain["I;16B"] = lambda: np.rint(array.astype(np.float64) / 257).astype(np.uint8)[..., None]
    return plain[picture.mode]() if picture.mode in plain else None


def save(kind: str, *, mode: str = "RGB", which: int = 0, **options: Any) -> bytes:
    out = io.BytesIO()
    picture = Image.fromarray(RGB[which])
    if mode == "I;16":
        picture = Image.fromarray(RGB[which][..., 0].astype(np.uint16) * 257)
    elif mode == "RGBA":
        picture.putalpha(Image.fromarray(RGB[1 - which][..., 0]))
    else:
        picture = picture.convert(mode)
    picture.save(out, kind, **options)
    return out.getvalue()


class Jpeg(Images):
    variants = (
        ("JPEG", {"quality": 85}), ("JPEG", {"which": 1, "quality": 95, "subsampling": 0}), ("JPEG", {"mode": "L"}),
        ("JPEG", {"progressive": True}), ("JPEG", {"mode": "CMYK"}), ("JPEG", {"optimize": True, "restart_marker_blocks": 1}),
    )  # fmt: skip


class Png(Images):
    variants = (
        ("PNG", {}), ("PNG", {"mode": "L"}), ("PNG", {"mode": "P"}), ("PNG", {"mode": "RGBA"}), ("PNG", {"mode": "I;16"}),
        ("PNG", {"mode": "1"}), ("PNG", {"mode": "LA", "which": 1}),
    )  # fmt: skip

    def mutated(self, rng: random.Random) -> bytes:
        data = super().mutated(rng)
        return sealed_png(data) if rng.random() < 0.6 else data


def sealed_png(data: bytes) -> bytes:
    """Return a PNG whose chunks have right checksums, so that what is behind them is reached."""
    out, at = bytearray(data), 8
    while at + 12 <= len(out):
        size = int.from_bytes(out[at : at + 4], "big")
        end = at + 8 + size
        if end + 4 > len(out):
            break
        out[end : end + 4] = zlib.crc32(out[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(out)


class Gif(Images):
    variants = (("GIF", {}), ("GIF", {"mode": "L"}), ("GIF", {"which": 1, "interlace": 0}))


class Tiff(Images):
    variants = (
        ("TIFF", {}), ("TIFF", {"compression": "tiff_lzw"}), ("TIFF", {"compression": "tiff_adobe_deflate"}),
        ("TIFF", {"compression": "packbits", "mode": "L"}), ("TIFF", {"mode": "I;16"}), ("TIFF", {"compression": "jpeg"}),
        ("TIFF", {"mode": "1", "compression": "group4"}), ("TIFF", {"mode": "CMYK"}),
    )  # fmt: skip


class Webp(Images):
    variants = (("WEBP", {}), ("WEBP", {"lossless": True, "which": 1}), ("WEBP", {"mode": "RGBA"}))


class Others(Images):
    variants = (("BMP", {}), ("BMP", {"mode": "P"}), ("PPM", {}), ("PPM", {"mode": "L"}), ("PPM", {"mode": "1"}))


# Archives and rows


class TarFolder(Target):
    """``folder:x.tar``."""

    def make(self) -> Sequence[bytes]:
        pictures = {f"{c}/{i}.{s}": save(k, which=i % 2) for i, (c, k, s) in enumerate(
            [("cat", "JPEG", "jpg"), ("cat", "PNG", "png"), ("dog", "PNG", "png"), ("dog", "JPEG", "jpeg")])}  # fmt: skip
        made = []
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            long = pictures | {f"dog/{'ü' * 60}{form}.png": pictures["dog/2.png"]}
            made.append(
                archives.tar(self.folder / "made.tar", pictures if form == tarfile.USTAR_FORMAT else long, format=form).read_bytes()
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
            place = sample.place  # type: ignore[attr-defined]
            assert data[place.offset : place.offset + place.size] == held[next(n for n, p in tar.files.items() if p == place)]
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
        return np.frombuffer(data.encode("latin-1") if isinstance(data, str) else data, dtype.order() + name).reshape(shape)

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
            return lambda data, dtype, shape, order: np.frombuffer(data, dtype.order() + text(dtype.given[0])).reshape(shape)
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
        for letter, values in ((b"I", RGB), (b"I", RGB[..., 0]), (b"L", np.array([1, 4])), (b"L", np.array([2, 0], np.uint8))):
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
                    more = {"compression": "gzip"} if which == "compressed" else {"fletcher32": True} if which == "checked" else {}
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


class Recipe(Target):
    text = True

    def make(self) -> Sequence[bytes]:
        folder = resources("corruptset.generate") / "recipes"
        return [f.read_bytes() for f in sorted(folder.iterdir(), key=str) if f.name.endswith(".toml") and len(f.read_bytes()) < 6000]

    def try_one(self, data: bytes) -> None:
        path = self.put("x.toml", data)
        recipe = corruptset.generate.recipe.load_recipe(path)
        given = tomllib.loads(data.decode("utf-8"))
        assert (recipe.name, recipe.version) == (given["name"], given["version"])
        sets = recipe.resolve()
        assert sets
        assert all(re.fullmatch(r"[a-z0-9_+/-]+", s.id) for s in sets)
        json.dumps(recipe.as_json(), allow_nan=False)


class Table(Target):
    text = True

    def make(self) -> Sequence[bytes]:
        folder = resources("corruptset.corruptions") / "tables"
        whole = (folder / "cifar.toml").read_text(encoding="utf-8")
        head, *rows = re.split(r"(?m)^(?=\[\[)", whole)
        # A table of a few corruptions, so that mutations hit more than one of a hundred rows.
        return [(head + "".join(rows[i : i + 8])).encode() for i in range(0, len(rows), 24)]

    def try_one(self, data: bytes) -> None:
        table = parse_table(data.decode("utf-8", "replace"), "x.toml")
        given = tomllib.loads(data.decode("utf-8", "replace"))
        assert (table.name, table.side) == (given["name"], given["side"])
        for corruption, rows in table.rows.items():
            for entry in given[corruption]:
                values = rows[entry["severity"]].parameters
                for key, value in values.items():
                    assert np.all(np.asarray(value) == np.asarray(entry[key]))
                    assert np.all(np.isfinite(np.asarray(value, float))) or isinstance(value, str | bool)


class Built(Target):
    """A small finished build, of which one file is mutated; `open` must give right pixels or an error, `verify` must find it."""

    text = True
    name = MANIFEST

    def make(self) -> Sequence[bytes]:
        self.directory = tiny_build(self.folder / "made")
        (self.folder / "secret.png").write_bytes(save("PNG"))
        return [(self.directory / self.name).read_bytes()]

    def try_one(self, data: bytes) -> None:
        path = self.directory / self.name
        replace_file(path, data)
        try:
            report = verify_directory(self.directory)
        except CorruptsetError:
            report = None
        same = data == self.files[0] or self.equal(data)
        assert same or report is None or not report.ok, "verify did not find it"
        self.read()

    def equal(self, data: bytes) -> bool:
        return False

    def read(self) -> None:
        found = corruptset.open(self.directory)
        for set_id in found.set_ids:
            for image, label in found[set_id]:
                assert image.dtype == np.uint8
                assert image.ndim == 3
                assert isinstance(label, int)


class ManifestJson(Built):
    def read(self) -> None:
        super().read()
        data = (self.directory / self.name).read_bytes()
        assert parse_manifest(data).as_json() == json.loads(data)


class SetRows(Built):
    name = set_path("contrast/1")


class SampleRows(Built):
    name = SAMPLES


class Sums(Built):
    name = SHA256SUMS

    def read(self) -> None:
        sums = read_sha256sums(self.directory)
        lines = (self.directory / self.name).read_bytes().decode("utf-8", "replace").split("\n")[:-1]
        assert [f"{hash.removeprefix('sha256:')}  {path}" for path, hash in sums.items()] == lines


class Shard(Built):
    """A shard of a build: read as part of the build and as a source."""

    text = False

    def make(self) -> Sequence[bytes]:
        super().make()
        self.name = "hdf5/contrast/1-00000.h5"
        return [(self.directory / self.name).read_bytes()]

    def read(self) -> None:
        super().read()
        source = open_source(f"hdf5:{self.directory / self.name}")
        for sample in source.samples:
            source.load(sample)


RECIPE = """
name = "tiny"
version = "1.0.0"
title = "Tiny"
calibration = "cifar"
[preprocessing]
kind = "resize-crop"
resize = 36
crop = 32
[encoding]
format = "png"
[[sets]]
corruptions = ["contrast"]
severities = [1]
"""


def tiny_build(folder: Path) -> Path:
    """Return a finished build of eight images in both containers."""
    if folder.exists():
        shutil.rmtree(folder)
    recipe = parse_recipe(RECIPE, "tiny")
    return corruptset.build(recipe, "sample", folder, jobs=1, format="both", metrics=0).directory


TARGETS: dict[str, Callable[[Path], Target]] = {
    "jpeg": Jpeg,
    "png": Png,
    "gif": Gif,
    "tiff": Tiff,
    "webp": Webp,
    "bmp-ppm": Others,
    "tar": TarFolder,
    "idx": Idx,
    "idx-gz": IdxZipped,
    "cifar-pickle": Cifar,
    "cifar-binary": CifarBinary,
    "cifar-targz": CifarArchive,
    "npy": Npy,
    "array": Array,
    "hdf5": Hdf5,
    "recipe": Recipe,
    "table": Table,
    "manifest": ManifestJson,
    "sets": SetRows,
    "samples": SampleRows,
    "sums": Sums,
    "shard": Shard,
}


class Broken(Target):
    """A reader with every fault that is looked for: the harness is tried on it."""

    def make(self) -> Sequence[bytes]:
        return [b"valid"]

    def numbered(self, target: str, seed: int, number: int) -> bytes:
        return b"%d" % number

    def try_one(self, data: bytes) -> None:
        if data == b"1":
            raise IndexError("not one of ours")
        if data == b"2":
            bytearray(2 << 30)
        if data == b"3":
            ctypes.string_at(0)
        while data == b"4":
            pass


SELF_TEST: dict[str, Callable[[Path], Target]] = {"broken": Broken}
