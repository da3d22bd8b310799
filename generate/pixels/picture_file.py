"""A single picture: read for `corrupt` and `preview`, and written to a file."""

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

FORMATS: dict[str, Literal["png", "jpeg"]] = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def check_output(out: Path, *, force: bool, formats: Iterable[str] = FORMATS) -> None:
    """Refuse, before any work, an output picture that cannot be written.

    It has a wrong suffix, is a folder, or exists.
    """
    local_folder(out, "pictures are written to")
    if out.suffix.lower() not in formats:
        raise ImageError(f"The output {out} ends in {out.suffix!r}; expected one of {', '.join(formats)}.")
    if not out.parent.is_dir():
        raise BuildError(f"The folder {out.parent} of the output {out} does not exist.")
    if out.is_dir():
        raise BuildError(f"The output {out} is a folder; expected a file name.")
    if (out.exists() or out.is_symlink()) and not force:
        raise BuildError(f"{out} exists; --force (in Python force=True) overwrites it, or give another --out.")


def load(text: str) -> tuple[NDArray[np.uint8], str]:
    """Return the (H, W, C) picture that ``IMAGE`` names, and its key for random draws.

    The path of an image file, decoded by the rules for sources and turned upright by its EXIF orientation: its key is
    the file's name without suffix. Or ``sample:NAME``, one of the sample source's photographs: its key is its sample
    id.
    """
    return _from_sample(text.removeprefix("sample:")) if text.startswith("sample:") else _from_file(Path(text))


def _from_sample(name: str) -> tuple[NDArray[np.uint8], str]:
    source = open_source("sample")
    known = _photographs(source)
    if name not in known:
        raise SourceError(
            f"The sample source has no photograph {name!r}.{suggest(name, known)} It has: {', '.join(known)}."
        )
    return source.load(known[name]).image, known[name].id


def _photographs(source: Source) -> dict[str, Sample]:
    return {sample.id.rpartition("/")[2]: sample for sample in source.samples}


def _from_file(path: Path) -> tuple[NDArray[np.uint8], str]:
    try:
        data = read_regular(path, MAX_FILE_BYTES)
    except OSError as e:
        meant = f" Did you mean sample:{path}?" if str(path) in _photographs(open_source("sample")) else ""
        meant = meant or (
            f" {path} is a corruption, and the picture comes first." if str(path) in corruption_names() else ""
        )
        raise SourceError(
            f"The picture {path} cannot be read: {reason(e)}. IMAGE is a picture file, or sample:NAME.{meant}"
        ) from None
    try:
        return decode(data, upright=True), path.stem
    except BadSample as e:
        raise SourceError(f"The picture {path} {e}.") from None
