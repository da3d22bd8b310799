"""Frost textures: four rendered by us, or a user's own pictures, with names and hashes for the manifest."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...digests import digest_of
from ...errors import SourceError, listed
from ..cache import cache_root, keep_file
from . import ice
from .grading import Texture

_BASE = (512, 768)
_MARGIN = 64
_SUFFIXES = (".png", ".jpg", ".jpeg")
_PUBLISHED = tuple(f"frost{i}" for i in range(1, 7))
_SOURCES = ("weather/ice.py", "weather/crystals.py", "weather/grading.py", "random/philox.py", "arithmetic.py")
LEAST_SIDE = 8
MOST = 100
"""Textures; they are all held in memory."""


@dataclass(frozen=True)
class TextureSet:
    """Textures that frost crops from.

    Two sets are equal if their names and hashes are. It pickles as its origin and hashes, without pixels: a worker
    reads it again, from the cache or the directory.
    """

    names: tuple[str, ...]
    sha256: tuple[str, ...]
    """``sha256:<hex>`` of ``H,W,3\\n`` and the RGB bytes of each."""
    picks: tuple[int, ...]
    """Indices that are drawn from, each equally likely: one that stands twice is twice as likely."""
    origin: tuple[str, ...] = field(compare=False)
    """``("default", height, width)`` or ``("directory", path)``."""
    arrays: tuple[Texture, ...] = field(compare=False, repr=False)

    @property
    def default(self) -> bool:
        """Whether these are the textures rendered by us."""
        return self.origin[0] == "default"

    def not_covering(self, scale: float, height: int, width: int) -> list[str]:
        """Return the textures that are smaller than an image once they are resized by a scale, as ``name: HxW``."""
        return [
            f"{name}: {rows}x{columns}"
            for name, (rows, columns) in zip(self.names, (a.shape[:2] for a in self.arrays), strict=True)
            if np.rint(rows * scale) < height or np.rint(columns * scale) < width
        ]

    def records(self) -> list[tuple[str, str]]:
        """Return (name, sha256) of each texture, as the manifest lists them."""
        return list(zip(self.names, self.sha256, strict=True))

    def __reduce__(self) -> tuple[Callable[..., TextureSet], tuple[tuple[str, ...], tuple[str, ...]]]:
        return _reopened, (self.origin, self.sha256)


def default_size(height: int, width: int) -> tuple[int, int]:
    """Return the size of the default textures for images of a size: 512x768 (768x512 for upright images), doubled
    until 64 pixels are left over on both sides. It depends on nothing else.

    Examples
    --------
    >>> default_size(224, 224), default_size(600, 400), default_size(4000, 6000)
    ((512, 768), (768, 512), (4096, 6144))
    """
    rows, columns = _BASE if height <= width else _BASE[::-1]
    while rows < height + _MARGIN or columns < width + _MARGIN:
        rows, columns = 2 * rows, 2 * columns
    return rows, columns


def default_textures(height: int, width: int) -> TextureSet:
    """Return the textures rendered by us for images of a size.

    They are made when first asked for (about three seconds at 512x768 once the kernels are compiled) and kept in the cache.
    """
    return _default(*default_size(height, width))


@functools.lru_cache(maxsize=4)
def _default(rows: int, columns: int) -> TextureSet:
    names = tuple(name for name, _ in ice.RENDERERS)
    arrays, hashes = zip(*(_cached(name, (rows, columns)) for name in names), strict=True)
    # The published set holds its second picture twice.
    return TextureSet(names, hashes, (0, 1, 1, 2, 3), ("default", str(rows), str(columns)), arrays)


def load_textures(directory: str | Path) -> TextureSet:
    """Return a user's own textures: the PNG and JPEG files of a directory, sorted by name.

    Files called frost1 to frost6, as the released generators ship them, are drawn from as those do: the first five,
    equally likely (their ``randint(5)`` never picks the sixth). Any other set is drawn from uniformly. `SourceError` lists all
    problems at once.
    """
    path = Path(directory).expanduser()
    if not path.is_dir():
        raise SourceError(f"The frost textures' directory {str(directory)!r} does not exist; give a directory of PNG or JPEG files.")
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in _SUFFIXES and p.is_file())
    if not files:
        raise SourceError(
            f"There are no pictures in the frost textures' directory {str(directory)!r}; expected files ending in {', '.join(_SUFFIXES)}."
        )
    if len(files) > MOST:
        raise SourceError(
            f"There are {len(files)} pictures in the frost textures' directory {str(directory)!r}; expected at most {MOST} pictures of "
            "frost (the published set has six). Give a directory that holds nothing else."
        )
    arrays, problems = [], []
    for file in files:
        try:
            arrays.append(_decoded(file))
        except (OSError, ValueError, SyntaxError, Warning) as e:
            problems.append(f"{file.name}: {e}")
    if problems:
        raise SourceError(
            f"{len(problems)} of the {len(files)} frost textures in {str(directory)!r} cannot be used:\n{listed(problems)}\n"
            "Replace them, or take them out of the directory."
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
                raise ValueError(f"its mode is {image.mode}; expected 8 bits a channel")
            # Transparency is dropped, not blended: so the released generators read theirs.
            array = np.array(image.convert("RGB"))
    if min(array.shape[:2]) < LEAST_SIDE:
        raise ValueError(f"it is {array.shape[0]}x{array.shape[1]} (height x width); expected at least {LEAST_SIDE}x{LEAST_SIDE}")
    return array


@functools.lru_cache(maxsize=8)
def _reopened(origin: tuple[str, ...], sha256: tuple[str, ...]) -> TextureSet:
    textures = _default(int(origin[1]), int(origin[2])) if origin[0] == "default" else load_textures(origin[1])
    if textures.sha256 != sha256:
        raise SourceError(f"The frost textures ({' '.join(origin)}) have changed since the build was started; put back the former ones.")
    return textures


def _sha256(texture: Texture) -> str:
    head = f"{texture.shape[0]},{texture.shape[1]},{texture.shape[2]}\n".encode()
    digest = hashlib.sha256(head)
    digest.update(texture.data)
    return digest_of(digest)


@functools.cache
def _folder() -> Path:
    room = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for source in _SOURCES:
        digest.update(source.encode() + b"\0" + (room / source).read_bytes() + b"\0")
    return cache_root() / "textures" / digest.hexdigest()[:16]


def _cached(name: str, size: tuple[int, int]) -> tuple[Texture, str]:
    """Return a default texture and its hash, from the cache where it is there and whole.

    The file is mapped copy-on-write: workers share its pages, and the array is writable, as kernels expect.
    """
    path = _folder() / f"{name}-{size[0]}x{size[1]}.npy"
    note = path.with_suffix(".sha256")
    with contextlib.suppress(OSError, ValueError, EOFError):
        texture: Texture = np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
        if texture.shape == (*size, 3) and texture.dtype == np.uint8 and _sha256(texture) == note.read_text("ascii").strip():
            return texture, _sha256(texture)
    texture = ice.render(name, size)
    digest = _sha256(texture)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.save(buffer, texture, allow_pickle=False)
    keep_file(path, buffer.getvalue())
    keep_file(note, digest.encode())
    return texture, digest
