"""Reading and writing single pictures for `corrupt` and `preview`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import BuildError, ImageError, SourceError
from ..files import read_regular, reason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..generate.recipes.recipe import Recipe

FORMATS: dict[str, Literal["png", "jpeg"]] = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def check_output(out: Path, *, force: bool, formats: Iterable[str] = FORMATS) -> None:
    """Refuse, before any work, an output that cannot be written as asked: a wrong suffix, a folder, a file that is there."""
    if out.suffix.lower() not in formats:
        raise ImageError(f"The output {out} ends in {out.suffix!r}; expected one of {', '.join(formats)}.")
    if not out.parent.is_dir():
        raise BuildError(f"The folder {out.parent} of the output {out} does not exist.")
    if out.is_dir():
        raise BuildError(f"The output {out} is a folder; expected a file name.")
    if (out.exists() or out.is_symlink()) and not force:
        raise BuildError(f"{out} exists; --force overwrites it, or give another --out.")


def encode(image: NDArray[np.uint8], out: Path) -> bytes:
    """Return an (H, W, C) image as the bytes of a file that is called `out`: lossless PNG, or JPEG of quality 85."""
    from ..generate.pixels.encoding import parse_encoding

    return parse_encoding({"format": FORMATS[out.suffix.lower()]}).encode(image)


@dataclass(frozen=True)
class Picture:
    """A picture, ready to be corrupted, and what it is called."""

    pixels: NDArray[np.uint8]
    """(H, W, C)"""
    key: str


def load(text: str) -> Picture:
    """Return the picture that ``IMAGE`` names.

    Parameters
    ----------
    text : str
        The path of a picture file, decoded by the rules for sources; or ``sample:NAME``, one of the sample source's
        photographs, whose key is its sample id.

    Raises
    ------
    SourceError
    """
    pixels, key = _from_sample(text.removeprefix("sample:")) if text.startswith("sample:") else _from_file(Path(text))
    return Picture(pixels, key)


def preprocessed(picture: Picture, recipe: Recipe) -> Picture:
    """Return a picture as a recipe preprocesses it."""
    from ..generate.pixels.preprocessing import preprocess

    return Picture(preprocess(picture.pixels, recipe.preprocessing), picture.key)


def _from_sample(name: str) -> tuple[NDArray[np.uint8], str]:
    from ..errors import suggest
    from ..generate.sources.source import open_source

    source = open_source("sample")
    known = {sample.id.rpartition("/")[2]: sample for sample in source.samples}
    if name not in known:
        raise SourceError(f"The sample source has no photograph {name!r}.{suggest(name, known)} It has: {', '.join(known)}.")
    return source.load(known[name]).image, known[name].id


def _from_file(path: Path) -> tuple[NDArray[np.uint8], str]:
    from ..generate.sources.decoding import MAX_FILE_BYTES, decode
    from ..generate.sources.source import BadSample

    try:
        data = read_regular(path, MAX_FILE_BYTES)
    except OSError as e:
        raise SourceError(f"The picture {path} cannot be read: {reason(e)}. IMAGE is a picture file, or sample:NAME.") from None
    try:
        return decode(data), path.stem
    except BadSample as e:
        raise SourceError(f"The picture {path} {e}.") from None
