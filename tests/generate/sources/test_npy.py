"""Arrays in .npy files, whose rows are samples, and files that are rejected."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import source_archives as a

from corruptset.generate.sources.source import open_source

IMAGES, LABELS = a.random_crops(12)
EXPECTED = [
    (f"data/{i}", int(v), None, "sha256:" + hashlib.sha256(x.tobytes()).hexdigest())
    for i, (x, v) in enumerate(zip(IMAGES, LABELS, strict=True))
]


def write(root, images=IMAGES, labels=LABELS):
    np.save(root / "x.npy", images, allow_pickle=True)
    np.save(root / "y.npy", labels, allow_pickle=True)
    return f"npy:{root / 'x.npy'},{root / 'y.npy'}"


def test_array_rows_are_samples(tmp_path):
    grey = IMAGES[..., 0]
    for images in (IMAGES, np.asfortranarray(IMAGES), grey, grey[..., None]):
        source = open_source(write(tmp_path, images, LABELS.astype(np.int64 if images is IMAGES else np.uint8)))
        assert np.array_equal(source.load(source.samples[5]).image, images[5].reshape(32, 32, -1))
        assert [c.index for c in source.classes] == list(range(LABELS.max() + 1))
        assert images.shape != IMAGES.shape or a.source_contents(source) == EXPECTED
        assert len(pickle.dumps(source)) < 5000


def test_labels_may_be_integral_floats(tmp_path):
    source = open_source(write(tmp_path, IMAGES, LABELS.astype(np.float32)))
    assert a.source_contents(source) == EXPECTED
    assert source.remarks == (f"{tmp_path / 'y.npy'} holds float32, which is read as whole numbers.",)
    assert open_source(write(tmp_path)).remarks == ()


def test_unsuitable_arrays_are_rejected(tmp_path):
    for images, labels, message in (
        (IMAGES / 255, LABELS, "holds float64; expected uint8"),
        (IMAGES.astype(object), LABELS, "holds Python objects, which are not read"),
        (IMAGES.transpose(0, 3, 1, 2), LABELS, "channels first"),
        (IMAGES[:, :4], LABELS, "at least 8"),
        (IMAGES[:0], LABELS[:0], r"has the shape \(0, 32, 32, 3\)"),
        (IMAGES, LABELS[:-1], "has 11 labels, but .* has 12 images"),
        (IMAGES[:-1], LABELS, "has 12 labels, but .* has 11 images"),
        (IMAGES, LABELS + 0.5, r"has 12 labels out of range or not whole numbers \(row 0: "),
        (IMAGES, np.where(np.isin(LABELS, LABELS[3]), np.nan, LABELS), r"not whole numbers \(.*row 3: nan"),
        (IMAGES, LABELS - 100.0, "out of range or not whole numbers"),
        (IMAGES, LABELS.astype(complex), "holds complex128 of shape"),
        (IMAGES, np.eye(12, dtype=int), "expected whole numbers of shape"),
        (IMAGES, LABELS - 100, "labels out of range"),
    ):
        a.check_refused(write(tmp_path, images, labels), message)
    number, path = LABELS[:10], write(tmp_path, IMAGES, LABELS[:10])
    a.check_refused(path, rf"y\.npy has 10 labels, but {tmp_path}/x\.npy has 12 images\. Expected one label per image")
    a.check_refused(write(tmp_path, IMAGES, number.astype(float)), "has 10 labels, but .* has 12 images")
    a.check_refused(write(tmp_path, IMAGES, np.eye(10)), "has 10 labels, but .* has 12 images")
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    a.check_refused(
        write(tmp_path, LABELS, IMAGES), rf"{x} contains 12 single values, .*images come first: npy:{y},{x}\."
    )
    text = write(tmp_path)
    content = (tmp_path / "x.npy").read_bytes()
    for data in (content[:-1], content[:60], b"", b"PK\x03\x04" + bytes(100)):
        (tmp_path / "x.npy").write_bytes(data)
        a.check_refused(text, r"is not a \.npy file, or is truncated")
    for value in ("npy:x.npy", "npy:,y.npy"):
        a.check_refused(value, "needs two files: npy:IMAGES,LABELS")
    a.check_refused(f"npy:{tmp_path}/a.npy,{tmp_path}/y.npy", "does not exist")
