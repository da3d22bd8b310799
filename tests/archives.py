"""Small archives in the published forms, made of real pictures: what the tests of sources read."""

from __future__ import annotations

import functools
import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest
import scipy.io
import skimage.data
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.sources.source import open_source

TEN = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
FINE = [f"fine_{i:02d}" for i in range(100)]
COARSE = [f"coarse_{i:02d}" for i in range(20)]
WNIDS = ["n02123045", "n01440764", "n01532829"]
"""In the order of their ILSVRC2012 ids, which is not the sorted one."""


@functools.cache
def _pictures():
    return [skimage.data.astronaut(), skimage.data.chelsea(), skimage.data.coffee()]


def crops(count, seed=0):
    """Crops of 32x32 of photographs, and labels that are not sorted."""
    pictures = _pictures()
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        picture = pictures[i % 3]
        y, x = (int(rng.integers(0, n - 32)) for n in picture.shape[:2])
        found.append(picture[y : y + 32, x : x + 32])
    return np.stack(found), rng.integers(0, 10, count)


def planes(images):
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)


def _text(value):
    """A short string as Python 2 pickled it."""
    return b"U" + bytes([len(value)]) + value.encode()


def python2_batch(rows, columns, batch_label="testing batch 1 of 1"):
    """A batch as it is published: protocol 2 of Python 2, strings as bytes, the memo used."""
    data = rows.tobytes()
    out = io.BytesIO()
    out.write(b"\x80\x02}q\x01(" + _text("batch_label") + b"q\x02" + _text(batch_label) + b"q\x03")
    for key, labels in columns.items():
        out.write(_text(key) + b"q\x04]q\x05(" + b"".join(b"K" + bytes([int(v)]) for v in labels) + b"e")
    out.write(
        _text("data")
        + b"q\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85"
        + _text("b")
        + b"\x87Rq\x09(K\x01"
    )
    out.write(
        b"".join(b"M" + struct.pack("<H", n) for n in rows.shape)
        + b"\x86cnumpy\ndtype\nq\x0a"
        + _text("u1")
        + b"K\x00K\x01\x87Rq\x0b"
    )
    out.write(
        b"(K\x03"
        + _text("|")
        + b"NNN"
        + b"J\xff\xff\xff\xff" * 2
        + b"K\x00tb\x89T"
        + struct.pack("<I", len(data))
        + data
        + b"tb"
    )
    out.write(
        _text("filenames") + b"]q\x0c(" + b"".join(_text(f"photo_s_{i:06d}.png") for i in range(len(rows))) + b"eu."
    )
    return out.getvalue()


def protocol0_meta(names, rows):
    """batches.meta as it is published: protocol 0 of Python 2."""
    text = f"(dp1\nS'num_cases_per_batch'\np2\nI{rows}\nsS'label_names'\np3\n(lp4\n"
    text += "".join(f"S'{name}'\np{5 + i}\na" for i, name in enumerate(names))
    return (text + "sS'num_vis'\np40\nI3072\ns.").encode()


def saved(value, protocol=4):
    """A .npy file of an object as numpy.save writes it, its pickle under another protocol."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": ()})
    whole = np.empty((), object)
    whole[()] = value
    return out.getvalue() + pickle.dumps(whole, protocol)


def five(train):
    """The five batches of some images to train on, in their order; none where there are none."""
    if not train:
        return []
    images, labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
    return list(zip(np.array_split(images, 5), np.array_split(labels, 5), strict=True))


def ten_python(test, train=None, rows=None, dump=python2_batch):
    """Files of CIFAR-10's python version."""
    files = {
        "batches.meta": protocol0_meta(TEN, rows or len(test[0])),
        "readme.html": b"<html></html>",
        "test_batch": dump(planes(test[0]), {"labels": test[1]}),
    }
    for i, (images, labels) in enumerate(five(train), 1):
        files[f"data_batch_{i}"] = dump(planes(images), {"labels": labels})
    return {f"cifar-10-batches-py/{name}": data for name, data in files.items()}


def ten_binary(test, train=None):
    """Files of CIFAR-10's binary version."""
    files = {
        "batches.meta.txt": "\n".join([*TEN, "", ""]).encode(),
        "readme.html": b"",
        "test_batch.bin": binary(test[0], test[1][:, None]),
    }
    for i, (images, labels) in enumerate(five(train), 1):
        files[f"data_batch_{i}.bin"] = binary(images, labels[:, None])
    return {f"cifar-10-batches-bin/{name}": data for name, data in files.items()}


def binary(images, labels):
    return np.concatenate([np.asarray(labels, np.uint8), planes(images)], axis=1).tobytes()


def hundred_python(parts, dump=python2_batch):
    """Files of CIFAR-100's python version; parts: name -> (images, fine, coarse)."""
    files = {
        "meta": pickle.dumps({"fine_label_names": FINE, "coarse_label_names": COARSE}, protocol=2),
        "file.txt~": b"x",
    }
    for name, (images, fine, coarse) in parts.items():
        files[name] = dump(planes(images), {"fine_labels": fine, "coarse_labels": coarse})
    return {f"cifar-100-python/{name}": data for name, data in files.items()}


def hundred_binary(parts):
    files = {
        "fine_label_names.txt": "\n".join([*FINE, ""]).encode(),
        "coarse_label_names.txt": "\n".join([*COARSE, ""]).encode(),
    }
    for name, (images, fine, coarse) in parts.items():
        files[f"{name}.bin"] = binary(images, np.stack([coarse, fine], axis=1))
    return {f"cifar-100-binary/{name}": data for name, data in files.items()}


def modern_batch(protocol):
    """Batches as someone saves them again from Python 3."""

    def dump(rows, columns):
        return pickle.dumps(
            {b"data": rows, **{key.encode(): [int(v) for v in labels] for key, labels in columns.items()}},
            protocol=protocol,
        )

    return dump


def write(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def tar(path, files, mode="w", change=None, **options):
    """Write a tar; `change` is given every header."""
    with tarfile.open(path, mode, **options) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            if change is not None:
                change(member)
            archive.addfile(member, io.BytesIO(data) if member.isreg() else None)
    return path


def idx(array):
    """An IDX file of unsigned bytes."""
    array = np.asarray(array, np.uint8)
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def zipped(data):
    return gzip.compress(data, mtime=0)


def jpeg(image, quality=90, mode="RGB"):
    buffer = io.BytesIO()
    Image.fromarray(image).convert(mode).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def val_images(count=7):
    """ILSVRC2012_val_*.JPEG with the odd ones of the real set: a CMYK JPEG, a PNG that is named .JPEG, a grey one."""
    picture = skimage.data.astronaut()
    files = {}
    for i in range(1, count + 1):
        crop = picture[i * 20 : i * 20 + 130 + i, i * 30 : i * 30 + 160]
        data = jpeg(crop, mode={2: "CMYK", 4: "L"}.get(i, "RGB"))
        if i == 3:
            buffer = io.BytesIO()
            Image.fromarray(crop).save(buffer, "PNG")
            data = buffer.getvalue()
        files[f"ILSVRC2012_val_{i:08d}.JPEG"] = data
    return files


def write_photographs(folder, names):
    """Write JPEG files of 256 pixels and more: crops of photographs, each of its own."""
    pictures = [getattr(skimage.data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")]
    for i, name in enumerate(names):
        picture, turn = pictures[i % 4], i // 4
        height, width = 256 + turn % 7, 256 + turn % 11
        y, x = turn * 37 % (picture.shape[0] - height), turn * 53 % (picture.shape[1] - width)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture[y : y + height, x : x + width]).save(path, format="JPEG", quality=95)


def truth(count=7):
    """The ILSVRC2012 ids of the images."""
    return [(i * 2) % 3 + 1 for i in range(count)]


def devkit(ids=None, year="2012", wnids=WNIDS, inner=2):
    """Files of a devkit with the structure of the real one: classes first, then synsets that stand above them."""
    ids = truth() if ids is None else ids
    dtype = [
        (f"ILSVRC{year}_ID", "O"), ("WNID", "O"), ("words", "O"), ("gloss", "O"), ("num_children", "O"),
        ("children", "O"), ("wordnet_height", "O"), ("num_train_images", "O"),
    ]  # fmt: skip
    rows = []
    for i, wnid in enumerate(wnids, 1):
        rows.append(
            (
                np.uint16(i),
                wnid,
                f"thing {i}, stuff",
                "a gloss",
                np.uint16(0),
                np.zeros((1, 0)),
                np.uint16(0),
                np.uint16(1300),
            )
        )
    for i in range(inner):
        rows.append(
            (
                np.uint16(len(wnids) + 1 + i),
                f"n0000{i:04d}",
                "above",
                "g",
                np.uint16(2),
                np.array([[1, 2]]),
                np.uint16(1),
                np.uint16(0),
            )
        )
    synsets = np.array(rows, dtype=dtype).reshape(-1, 1)
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"synsets": synsets})
    top = f"ILSVRC{year}_devkit_t12"
    return {
        f"{top}/readme.txt": b"x",
        f"{top}/data/meta.mat": buffer.getvalue(),
        f"{top}/data/ILSVRC{year}_validation_ground_truth.txt": "".join(f"{i}\n" for i in ids).encode(),
    }


def wnid_folders(count=7):
    """The same images in wnid folders."""
    return {
        f"{WNIDS[k - 1]}/{name}": data for k, (name, data) in zip(truth(count), val_images(count).items(), strict=True)
    }


def refuses(source, said, **options):
    """Demand that a source is refused with a message that a pattern is found in; return the message."""
    with pytest.raises(SourceError, match=said) as error:
        open_source(str(source), **options)
    return str(error.value)


def facts(source):
    """What two sources must have in common, to be the same."""
    return [(s.id, s.label, s.split, source.fingerprint(s)) for s in source.samples]


def unpacked_bytes(monkeypatch):
    """Return a list that gets how many bytes gzipped files are unpacked to."""
    taken, real = [], gzip._GzipReader.read

    def read(self, size=-1):
        data = real(self, size)
        taken.append(len(data))
        return data

    monkeypatch.setattr(gzip._GzipReader, "read", read)
    return taken
