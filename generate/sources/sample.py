"""The source ``sample``: eight public photographs that are installed with scikit-image."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .decoding import BadSample, decode
from .source import Sample, Source


class Photograph(NamedTuple):
    """A photograph: its file in scikit-image, the sha256 of its RGB bytes, and its licence."""

    file: str
    sha256: str
    license: str


_TABLE = """
astronaut.png a8c429c18afa7b0fd5673e598d73a21225d94c864a71bbb3885126fdecb41071 public domain (NASA, Eileen Collins)
chelsea.png 416b729128bfb2c3d1eb69bf9b1734a796293abc17939267b2dc94f8a5784031 CC0-1.0 (Stefan van der Walt)
coffee.png 0ce2b51640b9c95f19617f03eabf40c3f0368589cc1ee1190b70966165ac184f CC0-1.0 (Rachel Michetti)
hubble_deep_field.jpg 9a3ea9548188f81e63435188456e74de45a981ebeb791e265abe79a26d3b528b public domain (NASA)
ihc.png c5b3ef509a92f16d4c29be8cf0300fe75d53e13a3ce650159db932caea8dcc1b \
no known copyright restrictions (Center for Microscopy and Molecular Imaging)
motorcycle_left.png ca829467c1d4f427da9c4862ba43829da6ac90afe1f75735e95dba9e3fd9620b \
Middlebury 2014 stereo benchmark (Scharstein et al., GCPR 2014: cite it), as scikit-image distributes it
retina.jpg 3670e389d0dae9f755cc1bb7e4da4c3d2cdf10eba2dc3060836d8d4b8024d860 CC0-1.0 (Mikael Haggstrom, 2014)
rocket.jpg 3d4435cc745752b7f9724df88c6e18817de3ce7e3d2d71c55f85f7831e68f197 public domain (SpaceX)
"""
_ROWS = [line.split(" ", 2) for line in _TABLE.strip().split("\n")]
PHOTOGRAPHS = {file.partition(".")[0]: Photograph(file, f"sha256:{digest}", terms) for file, digest, terms in _ROWS}


def open(path: Path) -> Source:
    """Open the eight photographs in the order of their names. Each has its own class."""
    package = importlib.util.find_spec("skimage")
    if package is None or package.origin is None:
        raise SourceError("The source sample needs scikit-image, which is not installed: pip install scikit-image.")
    return photographs(Path(package.origin).parent / "data")


def photographs(folder: Path) -> Source:
    """Return the source of the photographs in a folder, with a note for each missing photograph."""
    classes = tuple(ClassRecord(index=i, name=name, folder=f"{i:02d}_{name}") for i, name in enumerate(PHOTOGRAPHS))
    present = [c for c in classes if (folder / PHOTOGRAPHS[c.name].file).is_file()]
    reason = f"is not in the installed {_library_version()}: install release 0.26, which has it, or build without it"
    notes = tuple((PHOTOGRAPHS[c.name].file, reason) for c in classes if c not in present)
    if not present:
        raise SourceError(
            f"The installed {_library_version()} ships none of the eight photographs: install release 0.26."
        )
    samples = tuple(Sample(index, c.name, c.index) for index, c in enumerate(present))
    terms = "; ".join(f"{name}: {photograph.license}" for name, photograph in PHOTOGRAPHS.items())
    return Source("sample", samples, classes, partial(_read, folder), notes, license=terms)


def _read(folder: Path, sample: Sample) -> NDArray[np.uint8]:
    file, expected, _ = PHOTOGRAPHS[sample.id]
    try:
        image = decode((folder / file).read_bytes())
    except OSError as e:
        raise BadSample(
            f"cannot be read from the installed scikit-image ({e.strerror}): install scikit-image again"
        ) from None
    if (sha256 := sha256_bytes(image.data)) != expected:
        raise BadSample(
            f"has different pixels in the installed {_library_version()} ({sha256}, expected {expected}): install "
            "scikit-image 0.26 and Pillow 13, or build without it"
        )
    return image


def _library_version() -> str:
    return f"scikit-image {importlib.metadata.version('scikit-image')}"
