"""Audit copies of published benchmarks on disk, with changes to files, rows and labels.

Each copy is audited with the public function, as a user would do it. `audit_bench` changes the images of individual
sets instead.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import corruptset
from corruptset.audits.hypotheses import hypothesis_of
from corruptset.audits.records import SetAudit

Images = NDArray[np.uint8]
CLASSES = 5
GOOD = ("identical", "same_pixels", "same_parameters")


@dataclass(frozen=True)
class Expected:
    """The known right result of auditing a set in a copy: the change, the verdicts, and the codes of the findings."""

    change: str
    verdicts: tuple[str, ...]
    codes: tuple[str, ...] = ()


Result = tuple[str, Expected, SetAudit]
"""The id of a set, the right result, and the result of the audit."""


def array_copies(
    folder: Path, corruptions: Sequence[str], images: Callable[[str, int], Images], clean: Images
) -> Iterator[Result]:
    """Audit copies of CIFAR-10-C stored as arrays, one copy for each change."""
    count = len(clean)
    rows = {name: np.stack([images(name, severity) for severity in range(1, 6)]) for name in corruptions}
    labels = np.arange(count) % CLASSES
    whole = _array_source(folder / "clean", clean, labels)
    fewer = _array_source(folder / "fewer", clean[:-2], labels[:-2])
    twice = {name: each[[0, 0, 2, 2, 4]] for name, each in rows.items()}
    changes: list[tuple[str, dict[str, Images], NDArray[np.int64], str]] = [
        ("severities reversed", {name: each[::-1] for name, each in rows.items()}, labels, whole),
        ("severities interleaved", {n: e.swapaxes(0, 1).reshape(e.shape) for n, e in rows.items()}, labels, whole),
        ("labels rotated", rows, (labels + 1) % CLASSES, whole),
        ("missing images", {name: each[:, :-2] for name, each in rows.items()}, labels[:-2], whole),
        ("extra images", rows, labels, fewer),
        ("a set stored twice", twice, labels, whole),
    ]
    for change, arrays, own_labels, source in changes:
        copy = folder / "copy"
        copy.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(copy / f"{name}.npy", array.reshape(-1, *array.shape[2:]))
        np.save(copy / "labels.npy", np.tile(own_labels, 5).astype(np.uint8))
        audited = corruptset.audit(copy, source, progress=False)
        shutil.rmtree(copy)
        for set_id, result in audited.sets.items():
            yield set_id, _answer(change, *set_id.split("/")), result


def tree_copy(
    folder: Path, corruptions: Sequence[str], images: Callable[[str, int], Images], photographs: Sequence[Images]
) -> Iterator[Result]:
    """Audit a copy of ImageNet-C stored in folders, with a different change for each severity."""
    for i, photograph in enumerate(photographs):
        path = folder / "clean" / str(i % CLASSES) / f"bench_{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(photograph).save(path)
    for name in corruptions:
        for severity in range(1, 6):
            # Severity 5 is a second copy of severity 4.
            for i, image in enumerate(images(name, min(severity, 4))):
                label = (i + 1) % CLASSES if severity == 1 else i % CLASSES
                if severity != 2 or i >= 2:
                    _save(image, folder / "copy" / name / str(severity) / str(label) / f"bench_{i}.JPEG")
                if severity == 3 and i < 2:
                    _save(image, folder / "copy" / name / "3" / str(label) / f"stranger_{i}.JPEG")
    changes = ("labels rotated", "missing images", "extra images", "a set stored twice", "a set stored twice")
    for set_id, result in corruptset.audit(folder / "copy", f"folder:{folder / 'clean'}", progress=False).sets.items():
        name, severity = set_id.split("/")
        change = changes[int(severity) - 1]
        codes = _CODES[change]
        verdicts = ("other_severity",) if severity == "5" else _unchanged(name, severity, "imagenet")
        yield set_id, Expected(change, verdicts, codes), result


def digit_copies(
    folder: Path, corruptions: Sequence[str], images: Callable[[str], Images], clean: Images
) -> Iterator[Result]:
    """Audit two copies of MNIST-C, one with rotated labels and one with missing images."""
    labels = np.arange(len(clean)) % CLASSES
    source = _array_source(folder / "clean", clean, labels)
    for change, kept, own_labels in (
        ("labels rotated", slice(None), (labels + 1) % CLASSES),
        ("missing images", slice(None, -2), labels),
    ):
        copy = folder / "copy"
        for name in corruptions:
            (copy / name).mkdir(parents=True)
            np.save(copy / name / "test_images.npy", images(name)[kept])
            np.save(copy / name / "test_labels.npy", own_labels[kept].astype(np.uint8))
        audited = corruptset.audit(copy, source, benchmark="mnist-c", progress=False)
        shutil.rmtree(copy)
        for set_id, result in audited.sets.items():
            yield set_id, Expected(change, GOOD, _CODES[change]), result


_CODES = {
    "severities reversed": (),
    "severities interleaved": ("other_labels",),
    "labels rotated": ("other_labels",),
    "missing images": ("missing_images",),
    "extra images": ("extra_images",),
    "a set stored twice": ("duplicate_set",),
}
"""A mapping from changes to the codes of the findings that an audit must report."""


def _answer(change: str, name: str, severity: str) -> Expected:
    """Return the right result for a set in a changed copy of CIFAR-10-C."""
    codes, verdicts = _CODES[change], _unchanged(name, severity, "cifar")
    if change == "severities reversed" and severity != "3":
        verdicts = ("other_severity",)
    if change == "severities interleaved":
        verdicts = ("other_order",)
    if change == "a set stored twice":
        codes = codes if severity != "5" else ()
        equal = (name, severity) == ("motion_blur", "4")  # at 32 pixels, severities 3 and 4 are equal
        verdicts = ("other_severity",) if severity in "24" and not equal else verdicts
    return Expected(change, verdicts, codes)


def _unchanged(name: str, severity: str, calibration: str) -> tuple[str, ...]:
    expected = hypothesis_of(name, int(severity), calibration)
    assert expected is not None
    if name == "motion_blur":
        return ("same_pixels", "same_parameters")
    return ("same_pixels",) if expected.deterministic else ("same_parameters",)


def _array_source(folder: Path, clean: Images, labels: NDArray[np.int64]) -> str:
    folder.mkdir(parents=True)
    np.save(folder / "images.npy", clean)
    np.save(folder / "labels.npy", labels)
    return f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"


def _save(image: Images, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path, quality=85, optimize=True)
