"""Fuzz targets for readers of archives and arrays: tar, IDX, CIFAR, Icons-50, .npy and HDF5.

The oracles are tarfile, pickle, numpy and a few lines with struct.
"""

from __future__ import annotations

import io
import pickle
import struct
import tarfile

import h5py
import icons
import numpy as np
import source_archives
from image_targets import save, strict
from mutating import mutate
from target import RGB, Target

from corruptset.generate.sources.source import BadSample, open_source
from corruptset.generate.sources.tar_archives import list_tar


class TarFolder(Target):
    """The source ``folder:x.tar``."""

    def make(self):
        kinds = [("cat", "JPEG", "jpg"), ("cat", "PNG", "png"), ("dog", "PNG", "png"), ("dog", "JPEG", "jpeg")]
        images = {f"{c}/{i}.{s}": save(k, which=i % 2) for i, (c, k, s) in enumerate(kinds)}
        results = []
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            long = {} if form == tarfile.USTAR_FORMAT else {f"dog/{'ü' * 60}{form}.png": images["dog/2.png"]}
            results.append(source_archives.write_tar(self.folder / "made.tar", images | long, format=form).read_bytes())
        return results

    def mutated(self, rng):
        data = super().mutated(rng)
        return sealed_tar(data) if rng.random() < 0.6 else data

    def try_one(self, data):
        path = self.put("x.tar", data)
        source = open_source(f"folder:{path}")
        members = {}
        with tarfile.open(path, ignore_zeros=True) as archive:
            for member in archive:
                if member.isreg():
                    members.setdefault(member.name.removeprefix("./"), archive.extractfile(member).read())  # type: ignore[union-attr]
        files = list_tar(path).files
        assert all(".." not in name.split("/") and not name.startswith("/") for name in files)
        valid_count = 0
        for sample in source.samples:
            place = sample.location
            content = data[place[0] : place[0] + place[1]]
            assert content == members[next(n for n, p in files.items() if p == place)]
            try:
                image = source.load(sample).image
            except BadSample:
                continue
            valid_count += 1
            if (expected := strict(content)) is not None:
                np.testing.assert_array_equal(image, expected)
        if not valid_count or source.notes:
            raise BadSample("nothing good in it, or something that is listed")


def sealed_tar(data: bytes) -> bytes:
    """Return a tar with valid checksums."""
    out = bytearray(data)
    for at in range(0, len(out) - 511, 512):
        if out[at + 257 : at + 262] == b"ustar":
            out[at + 148 : at + 156] = b" " * 8
            out[at + 148 : at + 156] = b"%06o\0 " % sum(out[at : at + 512])
    return bytes(out)


class Lettered(Target):
    """A reader of several files, of which one is mutated. The first byte of a mutation states which."""

    text_letters = b""

    def mutated(self, rng):
        data = rng.choice(self.files)
        text = data[:1] in self.text_letters
        return data[:1] + mutate(data[1:], rng, others=[f[1:] for f in self.files], text=text)


class Idx(Lettered):
    """The source ``mnist:FOLDER``: the file of images or of labels is mutated."""

    def make(self):
        images = source_archives.idx_bytes(RGB[:, :, :28, 0].reshape(-1, 28)[:56].reshape(2, 28, 28))
        self.whole = {b"I": images, b"L": source_archives.idx_bytes([3, 9])}
        return [letter + content for letter, content in self.whole.items()]

    def try_one(self, data):
        images, labels = (self.whole | {data[:1]: data[1:]}).values()
        self.put("m/t10k-images-idx3-ubyte", images)
        self.put("m/t10k-labels-idx1-ubyte", labels)
        source = open_source(f"mnist:{self.folder / 'm'}")
        count, height, width = struct.unpack(">3I", images[4:16])
        pixels = np.frombuffer(images, np.uint8, offset=16).reshape(count, height, width, 1)
        assert [s.label for s in source.samples] == list(labels[8:])
        for sample in source.samples:
            np.testing.assert_array_equal(source.load(sample).image, pixels[sample.index])


def is_row(image: np.ndarray, raw: bytes) -> bool:
    """Return whether an image is a slice of a pickle, as bytes or as Latin-1 text."""
    rows = image.tobytes(), image.transpose(2, 0, 1).tobytes()
    return any(row in raw or row.decode("latin-1").encode() in raw for row in rows)


class Cifar(Lettered):
    """The source ``cifar10:FOLDER``: the batch or the metadata is mutated."""

    names = ("test_batch", "batches.meta")
    text_letters = b"\1"

    def make(self):
        rows = source_archives.random_crops(3, seed=5)
        dumps = [source_archives.python2_batch, *(source_archives.modern_batch(p) for p in (2, 3, 4, 5))]
        results = [source_archives.cifar10_python(rows, dump=dump) for dump in dumps]
        variants = [{name.rpartition("/")[2]: data for name, data in job_result.items()} for job_result in results]
        self.whole = variants[0]
        return [bytes([k]) + item[name] for item in variants for k, name in enumerate(self.names)]

    def try_one(self, data):
        options = {**self.whole, self.names[data[0]]: data[1:]}
        for name, content in options.items():
            self.put(f"c/{name}", content)
        source = open_source(f"cifar10:{self.folder / 'c'}")
        assert {s.label for s in source.samples} <= {c.index for c in source.classes}
        assert all(is_row(source.load(sample).image, options["test_batch"]) for sample in source.samples)


class Icons(Target):
    """The source ``icons50:FILE``, with all ways in which numpy writes its dictionary.

    The reader of numpy is not an oracle, because it would execute what a mutation names.
    """

    def make(self):
        lists = icons.icon_fields(12)
        arrays, objects = (
            {name: values if name == "image" else np.array(values, kind) for name, values in lists.items()}
            for kind in (None, object)
        )
        last = lists | {"image": np.ascontiguousarray(lists["image"].transpose(0, 2, 3, 1))}
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "|O", "fortran_order": False, "shape": ()})
        results = []
        for value in (lists, arrays, objects, last):
            container = np.empty((), object)
            container[()] = value
            results += [head.getvalue() + pickle.dumps(container, protocol) for protocol in (2, 4, 5)]
        return results

    def try_one(self, data):
        path = self.put("Icons-50.npy", data)
        for groups in ("style", "subtype"):
            source = open_source(f"icons50:{path}", groups=groups)
            assert len(source.samples) > 0
            assert {s.label for s in source.samples} <= {c.index for c in source.classes}
            for sample in source.samples:
                assert is_row(source.load(sample).image, data)
                assert sample.group
                assert sample.group.encode().decode().isprintable() or not sample.group.isascii()


class Npy(Lettered):
    text_letters = b"IL"

    def make(self):
        results = []
        for letter, values in (
            (b"I", RGB),
            (b"I", RGB[..., 0]),
            (b"L", np.array([1, 4])),
            (b"L", np.array([2, 0], np.uint8)),
        ):
            for version in ((1, 0), (2, 0)):
                out = io.BytesIO()
                np.lib.format.write_array(out, np.ascontiguousarray(values), version=version)
                results.append(letter + out.getvalue())
        return results

    def try_one(self, data):
        fields = {b"I": self.files[0][1:], b"L": self.files[4][1:], data[:1]: data[1:]}
        images, labels = (self.put(f"{letter.decode()}.npy", content) for letter, content in fields.items())
        source = open_source(f"npy:{images},{labels}")
        arrays = np.load(images, allow_pickle=False)
        assert [s.label for s in source.samples] == np.load(labels, allow_pickle=False).tolist()
        for sample in source.samples:
            image = source.load(sample).image
            np.testing.assert_array_equal(image, arrays[sample.index].reshape(image.shape))


class Hdf5(Target):
    """The source ``hdf5:FILE`` with pixels, compressed pixels and encoded images."""

    def make(self):
        results = []
        for options in ({}, {"compression": "gzip"}, {"fletcher32": True}, None):
            path = self.folder / "made.h5"
            with h5py.File(path, "w") as file:
                if options is None:
                    rows = file.create_dataset("images", (2,), h5py.vlen_dtype(np.uint8))
                    for i in range(2):
                        rows[i] = np.frombuffer(save("JPEG", which=i), np.uint8)
                else:
                    file.create_dataset("images", data=RGB, chunks=(1, 32, 32, 3) if options else None, **options)
                file["labels"] = np.array([1, 0])
            results.append(path.read_bytes())
        return results

    def try_one(self, data):
        source = open_source(f"hdf5:{self.put('x.h5', data)}")
        with h5py.File(self.folder / "x.h5", "r", locking=False) as file:
            labels, rows = file["labels"][()].tolist(), file["images"]
            assert [s.label for s in source.samples] == labels
            for sample in source.samples[:64]:
                image, row = source.load(sample).image, np.asarray(rows[sample.index])
                expected = strict(row.tobytes()) if row.ndim == 1 else row
                if expected is not None:
                    np.testing.assert_array_equal(image, expected.reshape(image.shape))
