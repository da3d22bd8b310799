"""The development kit of ILSVRC2012: which synset every validation image is of.

``data/meta.mat`` has the synsets with their ILSVRC2012 ids (1 to 1000 are the classes, the others stand above them in
the hierarchy), ``data/ILSVRC2012_validation_ground_truth.txt`` has an id a line, for the images in the order of their
numbers.

References
----------
Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015; the kit's readme.txt.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import SourceError, listed
from ...files import read_text
from .places import read_whole
from .tarred import list_tar

WNID = re.compile(r"^n\d{8}$")
VAL = re.compile(r"^ILSVRC2012_val_(\d{8})$")
META = "data/meta.mat"
TRUTH = "data/ILSVRC2012_validation_ground_truth.txt"
NAMES = ("ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_devkit_t12")
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Truth:
    """The class of every image."""

    wnid_of: Mapping[str, str]
    """Image's stem -> wnid."""
    wnids: tuple[str, ...]
    """All classes."""
    complete: bool
    """Whether it names exactly the images that there are, as a devkit does; a file of labels may name more."""
    path: Path


def find_devkit(*folders: Path) -> Path | None:
    """Return the first devkit in the folders; one of another year too, which `read_truth` refuses."""
    for folder in folders:
        kits = [folder / name for name in NAMES if (folder / name).exists()] or sorted(folder.glob("*devkit*"))
        if kits:
            return kits[0]
    return None


def read_truth(path: Path) -> Truth:
    """Read a devkit (folder or tar.gz) or a file of labels.

    Raises
    ------
    SourceError
        It is not there, is of another year, or does not agree with itself.
    """
    if not path.exists():
        raise SourceError(f"{path} is not there. Expected the devkit {NAMES[0]}, its folder, or a file of labels.")
    if not path.is_dir() and "devkit" not in path.name.lower() and not path.name.lower().endswith((".tar.gz", ".tgz", ".tar")):
        return _read_labels(path)
    meta, truth = _devkit_files(path)
    synsets = _synsets(meta, path)
    ids = truth.decode("ascii", "replace").split()
    wrong = [f"line {i}: {t!r}" for i, t in enumerate(ids, 1) if t not in synsets]
    if wrong or not ids:
        what = f"{len(wrong)} lines that are no ids from 1 to {len(synsets)}:\n{listed(wrong, 10)}\n" if wrong else "no line. "
        raise SourceError(f"{path}: {TRUTH} has {what}Download the devkit again.")
    wnids = {f"ILSVRC2012_val_{i:08d}": synsets[t] for i, t in enumerate(ids, 1)}
    return Truth(wnids, tuple(synsets.values()), True, path)


def _devkit_files(path: Path) -> tuple[bytes | bytearray, bytes | bytearray]:
    """Return the synsets and the ids."""
    if path.is_dir():
        found = {p.relative_to(path).as_posix(): p for pattern in ("data/*", "*/data/*") for p in path.glob(pattern) if p.is_file()}
        contents: dict[str, bytes | bytearray] = {
            name: read_whole(p, MOST_BYTES) for name, p in sorted(found.items()) if name.endswith((META, TRUTH))
        }
        names = sorted(found)
    else:
        tar = list_tar(path, lambda member: member.endswith((META, TRUTH)))
        contents, names = dict(tar.contents), sorted(tar.files)
    for wanted in (META, TRUTH):
        if not any(name.endswith(wanted) for name in contents):
            truths = [name.rpartition("/")[2] for name in names if name.endswith("validation_ground_truth.txt")]
            year = f" It has {truths[0]}: it is the devkit of another year." if truths and wanted == TRUTH else ""
            raise SourceError(
                f"{path} has no {wanted}.{year} Expected the devkit of ILSVRC2012 (task 1 and 2): {NAMES[0]}, or its extracted folder."
            )
    meta, truth = (next(data for name, data in contents.items() if name.endswith(wanted)) for wanted in (META, TRUTH))
    return meta, truth


def _synsets(data: bytes | bytearray, path: Path) -> dict[str, str]:
    """Return id, as text, -> wnid of the classes in meta.mat."""
    from scipy.io import loadmat

    where = f"{path}: {META}"
    try:
        synsets = np.atleast_1d(loadmat(io.BytesIO(data), squeeze_me=True)["synsets"])
        fields = synsets.dtype.names or ()
    except Exception as e:  # scipy raises many kinds for what is no MATLAB file
        raise SourceError(f"{where} cannot be read as a MATLAB file with 'synsets' ({e}). Download the devkit again.") from None
    missing = [f for f in ("ILSVRC2012_ID", "WNID", "num_children") if f not in fields]
    if missing:
        year = next((f" It has {f}: it is the devkit of another year." for f in fields if re.fullmatch(r"ILSVRC20\d\d_ID", f)), "")
        raise SourceError(f"{where} has no {', '.join(missing)}.{year} Expected the devkit of ILSVRC2012: {NAMES[0]}.")
    try:
        classes = sorted((int(s["ILSVRC2012_ID"]), str(s["WNID"])) for s in synsets if int(s["num_children"]) == 0)
    except (TypeError, ValueError) as e:
        raise SourceError(f"{where} has synsets that cannot be read ({e}). Download the devkit again.") from None
    ids, wnids = [i for i, _ in classes], {w for _, w in classes}
    if not ids or ids != list(range(1, len(wnids) + 1)) or not all(map(WNID.fullmatch, wnids)):
        raise SourceError(
            f"{where} does not give every class a wnid such as n01440764 of its own, and an id from 1 on. Expected the devkit of "
            f"ILSVRC2012: {NAMES[0]}."
        )
    return {str(i): wnid for i, wnid in classes}


def _read_labels(path: Path) -> Truth:
    """Read labels from text: a wnid a line, ``file,label`` with wnids, or Kaggle's ``ImageId,PredictionString``."""
    try:
        rows = [row for row in csv.reader(read_text(path, MOST_BYTES).splitlines(), strict=True) if row]
    except (OSError, csv.Error) as e:
        raise SourceError(f"The labels {path} cannot be read: {e}. Expected a line an image.") from None
    head = [c.strip() for c in rows[0]] if rows else []
    if head in (["file", "label"], ["ImageId", "PredictionString"]):
        named = [(i, row[0].strip().rpartition("/")[2].removesuffix(".JPEG"), row[1:]) for i, row in enumerate(rows[1:], 2)]
    elif head and WNID.fullmatch(head[0]):
        named = [(i, f"ILSVRC2012_val_{i:08d}", row) for i, row in enumerate(rows, 1)]
    else:
        raise SourceError(
            f"The labels {path} begin with {','.join(head)[:80]!r}. Expected a header line 'file,label' or 'ImageId,PredictionString' "
            "(Kaggle's LOC_val_solution.csv), or a wnid a line; or give the devkit."
        )
    wnid_of: dict[str, str] = {}
    problems = []
    for i, stem, cells in named:
        wnid = cells[0].strip().partition(" ")[0] if len(cells) == 1 else ""
        if not WNID.fullmatch(wnid):
            problems.append(f"line {i}: {wnid!r} is no wnid such as n01440764")
        if not VAL.match(stem):
            problems.append(f"line {i}: {stem!r} is not a validation image's name (ILSVRC2012_val_00000001)")
        if stem in wnid_of:
            problems.append(f"line {i}: {stem} was given before")
        wnid_of[stem] = wnid
    if problems or not named:
        raise SourceError(f"The labels {path} have mistakes:\n{listed(problems or ['they have no row'])}")
    return Truth(wnid_of, tuple(set(wnid_of.values())), False, path)
