"""Read and check single image files, for `corrupt` and `preview`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import corruption_names
from ...errors import BuildError, ImageError, SourceError, suggest
from ...files import read_regular, reason
from ...manifests.disk.remote import local_folder
from ..sources.decoding import MAX_FILE_BYTES, decode
from ..sources.source import BadSample, Sample, Source, open_source

OUTPUT_FORMATS: dict[str, Literal["png", "jpeg"]] = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}
"""The format in which an image is written, by the suffix of the output file."""


def check_output(out: Path, *, force: bool, formats: Iterable[str] = OUTPUT_FORMATS) -> None:
    """Raise an error if an image cannot be written to a path. This is checked before the image is computed.

    Parameters
    ----------
    out : Path
        The path of the output file.
    force : bool
        True to overwrite an existing file.
    formats : iterable of str
        The allowed suffixes.

    Raises
    ------
    ImageError
        The suffix is not allowed.
    BuildError
        The folder of the path does not exist, or the path is a folder or an existing file.
    """
    local_folder(out, "images are written to")
    if out.suffix.lower() not in formats:
        raise ImageError(f"The output {out} ends in {out.suffix!r}; expected one of {', '.join(formats)}.")
    if not out.parent.is_dir():
        raise BuildError(f"The folder {out.parent} of the output {out} does not exist. Create it first.")
    if out.is_dir():
        raise BuildError(f"The output {out} is a folder; expected a file name.")
    if (out.exists() or out.is_symlink()) and not force:
        raise BuildError(f"{out} exists. Overwrite it with --force (in Python, force=True), or choose another --out.")


def load_image(text: str) -> tuple[NDArray[np.uint8], str]:
    """Return the (H, W, C) image that ``IMAGE`` names, and its key for random draws.

    Parameters
    ----------
    text : str
        The path of an image file, or ``sample:NAME`` for one of the photographs of the source ``sample``. A file is
        decoded like the files of a source, and rotated according to its EXIF orientation.

    Returns
    -------
    image : (H, W, C) ndarray of uint8
    key : str
        The name of the file without its suffix, or the id of the photograph.
    """
    if text.startswith("sample:"):
        return _load_photograph(text.removeprefix("sample:"))
    return _load_file(Path(text))


def _load_photograph(name: str) -> tuple[NDArray[np.uint8], str]:
    source = open_source("sample")
    known = _photographs(source)
    if name not in known:
        raise SourceError(
            f"The source sample has no photograph {name!r}.{suggest(name, known)} It has: {', '.join(known)}."
        )
    return source.load(known[name]).image, known[name].id


def _photographs(source: Source) -> dict[str, Sample]:
    return {sample.id.rpartition("/")[2]: sample for sample in source.samples}


def _load_file(path: Path) -> tuple[NDArray[np.uint8], str]:
    try:
        data = read_regular(path, MAX_FILE_BYTES)
    except OSError as e:
        hint = ""
        if str(path) in _photographs(open_source("sample")):
            hint = f" Did you mean sample:{path}?"
        elif str(path) in corruption_names():
            hint = f" {path} is the name of a corruption. The image must come first."
        raise SourceError(
            f"The image {path} cannot be read: {reason(e)}. IMAGE is an image file, or sample:NAME.{hint}"
        ) from None
    try:
        return decode(data, upright=True), path.stem
    except BadSample as e:
        raise SourceError(f"The image {path} {e}.") from None
