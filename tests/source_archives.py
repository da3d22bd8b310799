"""Small archives of datasets in the published formats, for tests of sources."""

from __future__ import annotations

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
from example_images import encode_image

CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
CIFAR100_CLASSES = [f"fine_{i:02d}" for i in range(100)]
CIFAR100_GROUPS = [f"coarse_{i:02d}" for i in range(20)]
WNIDS = ["n02123045", "n01440764", "n01532829"]
"""WordNet ids in the order of their ILSVRC2012 ids, which is not alphabetical."""
PHOTOGRAPHS = [skimage.data.astronaut(), skimage.data.chelsea(), skimage.data.coffee()]


def random_crops(count, seed=0):
    """Return crops of photographs of 32x32 pixels, and unsorted labels."""
    rng = np.random.default_rng(seed)
    results = []
    for i in range(count):
        image = PHOTOGRAPHS[i % 3]
        y, x = (int(rng.integers(0, n - 32)) for n in image.shape[:2])
        results.append(image[y : y + 32, x : x + 32])
    return np.stack(results), rng.integers(0, 10, count)


def channel_planes(images):
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)


def _text(value):
    """Return a short string in a pickle of Python 2."""
    return b"U" + bytes([len(value)]) + value.encode()


def python2_batch(rows, columns):
    """Return a batch as it was published: protocol 2 of Python 2, with strings as bytes and with memo."""
    data = rows.tobytes()
    parts = [b"\x80\x02}q\x01(", _text("batch_label"), b"q\x02", _text("testing batch 1 of 1"), b"q\x03"]
    for key, labels in columns.items():
        parts += [_text(key), b"q\x04]q\x05(", *(b"K" + bytes([int(v)]) for v in labels), b"e"]
    parts += [_text("data"), b"q\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85U\x01b"]
    parts += [b"\x87Rq\x09(K\x01", *(b"M" + struct.pack("<H", n) for n in rows.shape)]
    parts += [b"\x86cnumpy\ndtype\nq\x0aU\x02u1K\x00K\x01\x87Rq\x0b(K\x03U\x01|NNN", b"J\xff\xff\xff\xff" * 2]
    parts += [b"K\x00tb\x89T", struct.pack("<I", len(data)), data, b"tb", _text("filenames"), b"]q\x0c("]
    parts += [_text(f"photo_s_{i:06d}.png") for i in range(len(rows))]
    return b"".join(parts) + b"eu."


def protocol0_meta(names, rows):
    """Return batches.meta as it was published: protocol 0 of Python 2."""
    text = f"(dp1\nS'num_cases_per_batch'\np2\nI{rows}\nsS'label_names'\np3\n(lp4\n"
    text += "".join(f"S'{name}'\np{5 + i}\na" for i, name in enumerate(names))
    return (text + "sS'num_vis'\np40\nI3072\ns.").encode()


def modern_batch(protocol):
    """Return a function that pickles batches with Python 3."""

    def dump(rows, columns):
        lists = {key.encode(): [int(v) for v in labels] for key, labels in columns.items()}
        return pickle.dumps({b"data": rows, **lists}, protocol=protocol)

    return dump


def npy_object(value, protocol=4):
    """Return a .npy file of an object like those of numpy.save, with another pickle protocol."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": ()})
    container = np.empty((), object)
    container[()] = value
    return out.getvalue() + pickle.dumps(container, protocol)


def _cifar10_files(test, train, names, batch):
    """Return files of CIFAR-10: the test batch, and five training batches if there are training images."""
    batches = [test]
    if train:
        images, labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
        batches += zip(np.array_split(images, 5), np.array_split(labels, 5), strict=True)
    return {names.format(f"data_batch_{i}" if i else "test_batch"): batch(*some) for i, some in enumerate(batches)}


def cifar10_python(test, train=None, rows=None, dump=python2_batch):
    """Return files of the Python version of CIFAR-10."""
    top = "cifar-10-batches-py/"
    files = {
        f"{top}batches.meta": protocol0_meta(CIFAR10_CLASSES, rows or len(test[0])),
        f"{top}readme.html": b"<html></html>",
    }
    return files | _cifar10_files(
        test, train, f"{top}{{}}", lambda images, labels: dump(channel_planes(images), {"labels": labels})
    )


def cifar10_binary(test, train=None):
    """Return files of the binary version of CIFAR-10."""
    top = "cifar-10-batches-bin/"
    files = {f"{top}batches.meta.txt": "\n".join([*CIFAR10_CLASSES, "", ""]).encode(), f"{top}readme.html": b""}
    return files | _cifar10_files(
        test, train, f"{top}{{}}.bin", lambda images, labels: binary_rows(images, labels[:, None])
    )


def binary_rows(images, labels):
    return np.concatenate([np.asarray(labels, np.uint8), channel_planes(images)], axis=1).tobytes()


def cifar100_python(parts, dump=python2_batch):
    """Return files of the Python version of CIFAR-100. `parts` maps names to (images, fine labels, coarse labels)."""
    meta = pickle.dumps({"fine_label_names": CIFAR100_CLASSES, "coarse_label_names": CIFAR100_GROUPS}, protocol=2)
    files = {"cifar-100-python/meta": meta, "cifar-100-python/file.txt~": b"x"}
    for name, (images, fine, coarse) in parts.items():
        files[f"cifar-100-python/{name}"] = dump(channel_planes(images), {"fine_labels": fine, "coarse_labels": coarse})
    return files


def cifar100_binary(parts):
    lists = {"fine_label_names.txt": CIFAR100_CLASSES, "coarse_label_names.txt": CIFAR100_GROUPS}
    files = {name: "\n".join([*names, ""]).encode() for name, names in lists.items()}
    for name, (images, fine, coarse) in parts.items():
        files[f"{name}.bin"] = binary_rows(images, np.stack([coarse, fine], axis=1))
    return {f"cifar-100-binary/{name}": data for name, data in files.items()}


def write_files(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def write_tar(path, files, mode="w", change=None, **options):
    """Write a tar archive. `change` is called with every header."""
    with tarfile.open(path, mode, **options) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            if change is not None:
                change(member)
            archive.addfile(member, io.BytesIO(data) if member.isreg() else None)
    return path


def idx_bytes(array):
    """Return an IDX file of unsigned bytes."""
    array = np.asarray(array, np.uint8)
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def gzip_bytes(data):
    return gzip.compress(data, mtime=0)


def jpeg_bytes(image, mode="RGB"):
    return encode_image(Image.fromarray(image).convert(mode), "JPEG", quality=90)


def val_images():
    """Return seven ILSVRC2012_val_*.JPEG, with a CMYK JPEG, a PNG and a grey image, as in the published archive."""
    crops = {i: PHOTOGRAPHS[0][i * 20 : i * 20 + 130 + i, i * 30 : i * 30 + 160] for i in range(1, 8)}
    files = {i: jpeg_bytes(crop, {2: "CMYK", 4: "L"}.get(i, "RGB")) for i, crop in crops.items()}
    return {f"ILSVRC2012_val_{i:08d}.JPEG": data for i, data in (files | {3: encode_image(crops[3])}).items()}


def write_photographs(folder, names):
    """Write JPEG files of at least 256 pixels, which are different crops of photographs."""
    images = [getattr(skimage.data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")]
    for i, name in enumerate(names):
        image, turn = images[i % 4], i // 4
        height, width = 256 + turn % 7, 256 + turn % 11
        y, x = turn * 37 % (image.shape[0] - height), turn * 53 % (image.shape[1] - width)
        write_files(folder, {name: encode_image(image[y : y + height, x : x + width], "JPEG", quality=95)})


def ground_truth(count=7):
    """Return the ILSVRC2012 ids of the images."""
    return [(i * 2) % 3 + 1 for i in range(count)]


def devkit_files(ids=None, year="2012", wnids=WNIDS):
    """Return files of a devkit with the published structure: the classes, and then two parent synsets."""
    names = f"ILSVRC{year}_ID WNID words gloss num_children children wordnet_height num_train_images".split()
    dtype, none = np.uint16, np.zeros((1, 0))
    rows = [
        (dtype(i), wnid, f"thing {i}, stuff", "a gloss", dtype(0), none, dtype(0), dtype(1300))
        for i, wnid in enumerate(wnids, 1)
    ] + [
        (
            dtype(len(wnids) + 1 + i),
            f"n0000{i:04d}",
            "above",
            "g",
            dtype(2),
            np.array([[1, 2]]),
            dtype(1),
            dtype(0),
        )
        for i in range(2)
    ]
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"synsets": np.array(rows, [(name, "O") for name in names]).reshape(-1, 1)})
    top = f"ILSVRC{year}_devkit_t12"
    return {
        f"{top}/readme.txt": b"x",
        f"{top}/data/meta.mat": buffer.getvalue(),
        f"{top}/data/ILSVRC{year}_validation_ground_truth.txt": "".join(
            f"{i}\n" for i in ids or ground_truth()
        ).encode(),
    }


def wnid_folders():
    """Return the same images in wnid folders."""
    images = zip(ground_truth(), val_images().items(), strict=True)
    return {f"{WNIDS[k - 1]}/{name}": data for k, (name, data) in images}


def check_refused(source, message, **options):
    """Assert that a source is refused with a message that matches a pattern, and return the message."""
    with pytest.raises(SourceError, match=message) as error:
        open_source(str(source), **options)
    return str(error.value)


def source_contents(source):
    """Return the properties in which two equal sources must agree."""
    return [(s.id, s.label, s.split, source.fingerprint(s)) for s in source.samples]
