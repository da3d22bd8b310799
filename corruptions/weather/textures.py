"""Frost textures: corruptset's default textures, or those of a user."""

from __future__ import annotations

import functools
import hashlib
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...digests import digest_of
from ...errors import ParameterError, SourceError, format_list
from ...published_frost import PUBLISHED_FROST

Texture = NDArray[np.uint8]

_SUFFIXES = (".png", ".jpg", ".jpeg")
_PUBLISHED = tuple(f"frost{i}" for i in range(1, 7))
_DEFAULT = ("sheet", "needles", "pane", "feathers")
MIN_TEXTURE_SIDE = 8
MAX_TEXTURES = 100
"""The maximum number of textures. It is limited because all textures are held in memory."""


@dataclass(frozen=True)
class TextureSet:
    """Textures from which frost takes its crops.

    Two sets are equal if their names and hashes are equal. Texture sets are pickled without pixels. A worker reads the
    textures from the package or directory again.
    """

    names: tuple[str, ...]
    sha256: tuple[str, ...]
    r"""The hash of each texture, ``sha256:<hex>``, over the text ``H,W,3\\n`` and the RGB bytes."""
    picks: tuple[int, ...]
    """The indices from which a texture is drawn uniformly. An index that is listed twice is twice as likely."""
    origin: tuple[str, ...] = field(compare=False)
    """Either ``("default", "landscape" or "upright")`` or ``("directory", path)``."""
    arrays: tuple[Texture, ...] = field(compare=False, repr=False)

    @property
    def default(self) -> bool:
        """Whether these are the default textures of corruptset."""
        return self.origin[0] == "default"

    @property
    def published(self) -> bool:
        """Whether these are the textures of the published sets, with the same probabilities."""
        drawn = Counter(self.sha256[i] for i in self.picks)
        return {sha256: Fraction(times, len(self.picks)) for sha256, times in drawn.items()} == PUBLISHED_FROST

    def not_covering(self, scale: float, height: int, width: int) -> list[str]:
        """Return the textures that do not cover an image even after scaling, as ``name: HxW``."""
        return [
            f"{name}: {rows}x{columns}"
            for name, (rows, columns) in zip(self.names, (a.shape[:2] for a in self.arrays), strict=True)
            if np.rint(rows * scale) < height or np.rint(columns * scale) < width
        ]

    def records(self) -> list[tuple[str, str]]:
        """Return the (name, sha256) of each texture for the manifest."""
        return list(zip(self.names, self.sha256, strict=True))

    def __reduce__(self) -> tuple[Callable[..., TextureSet], tuple[tuple[str, ...], tuple[str, ...]]]:
        return _reopened, (self.origin, self.sha256)


def given_textures(given: Any) -> TextureSet:
    """Return the textures for a call, and load them if a folder is given."""
    if isinstance(given, (str, os.PathLike)):
        return load_textures(Path(given))
    if not isinstance(given, TextureSet):
        raise ParameterError(
            f"frost: textures is of type {type(given).__name__}; expected a folder of PNG or JPEG files. Pass a single "
            "crop, which is an array, as texture."
        )
    return given


def default_textures(height: int, width: int) -> TextureSet:
    """Return the default textures, which are 512x768 (height x width), or 768x512 for upright images."""
    return _default("upright" if height > width else "landscape")


@functools.cache
def _default(shape: str) -> TextureSet:
    folder = Path(__file__).parent / "frosts"
    arrays = tuple(_decoded(folder / f"{name}-{shape}.png") for name in _DEFAULT)
    # The published set contains its second texture twice.
    return TextureSet(_DEFAULT, tuple(_sha256(a) for a in arrays), (0, 1, 1, 2, 3), ("default", shape), arrays)


def load_textures(directory: str | Path) -> TextureSet:
    """Load textures from the PNG and JPEG files of a directory, sorted by name.

    Textures are drawn uniformly. The files frost1 to frost6 of the released generators are an exception. Only the first
    five of them are drawn, because ``randint(5)`` in the released code never returns the index of the sixth.

    Raises
    ------
    SourceError
        If the directory or some of its files cannot be used. The message lists all problems.
    """
    path = Path(directory).expanduser()
    if not path.is_dir():
        raise SourceError(
            f"The directory of frost textures {str(directory)!r} does not exist. Pass a directory of PNG or JPEG files."
        )
    # On disks with foreign file systems, macOS adds hidden files with the same suffixes.
    files = sorted(p for p in path.glob("[!.]*") if p.suffix.lower() in _SUFFIXES and p.is_file())
    if not files:
        raise SourceError(
            f"The directory of frost textures {str(directory)!r} contains no images; expected files ending in "
            f"{', '.join(_SUFFIXES)}."
        )
    if len(files) > MAX_TEXTURES:
        raise SourceError(
            f"The directory of frost textures {str(directory)!r} contains {len(files)} images; expected at most "
            f"{MAX_TEXTURES} (the published set has six). Pass a directory that contains only frost textures."
        )
    arrays, problems = [], []
    for file in files:
        try:
            arrays.append(_decoded(file))
        except (OSError, ValueError, SyntaxError, Warning) as e:
            problems.append(f"{file.name}: {e}")
    if problems:
        raise SourceError(
            f"{len(problems)} of the {len(files)} frost textures in {str(directory)!r} cannot be "
            f"used:\n{format_list(problems)}\n"
            "Replace them, or remove them from the directory."
        )
    picks = tuple(range(5)) if tuple(f.stem for f in files) == _PUBLISHED else tuple(range(len(files)))
    hashes = tuple(_sha256(a) for a in arrays)
    return TextureSet(tuple(f.name for f in files), hashes, picks, ("directory", str(path.resolve())), tuple(arrays))


def _decoded(file: Path) -> Texture:
    import warnings

    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(file) as image:
            if image.mode.startswith(("I", "F")):
                raise ValueError(f"its mode is {image.mode}; expected 8 bits per channel")
            # Transparency is dropped instead of blended, as in the released generators.
            array = np.array(image.convert("RGB"))
    if min(array.shape[:2]) < MIN_TEXTURE_SIDE:
        raise ValueError(
            f"it is {array.shape[0]}x{array.shape[1]} (height x width); expected at least "
            f"{MIN_TEXTURE_SIDE}x{MIN_TEXTURE_SIDE}"
        )
    return array


@functools.lru_cache(maxsize=8)
def _reopened(origin: tuple[str, ...], sha256: tuple[str, ...]) -> TextureSet:
    textures = _default(origin[1]) if origin[0] == "default" else load_textures(origin[1])
    if textures.sha256 != sha256:
        raise SourceError(
            f"The frost textures ({' '.join(origin)}) have changed since the build was started. Restore the former "
            "textures."
        )
    return textures


def _sha256(texture: Texture) -> str:
    head = f"{texture.shape[0]},{texture.shape[1]},{texture.shape[2]}\n".encode()
    digest = hashlib.sha256(head)
    digest.update(texture.data)
    return digest_of(digest)
