"""Check file names, for sources whose images keep their file names in the dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...errors import first_few
from ...manifests.images.image_formats import format_of_suffix, preserved_path
from .image_listing import has_kept_suffix


def suffix_problems(paths: Iterable[str]) -> list[str]:
    """Return an error line for each path that does not have a JPEG or PNG suffix, and so cannot be kept."""
    return [
        f"{path}: its suffix is not that of a JPEG or PNG file, and images of this source keep their names"
        for path in paths
        if not has_kept_suffix(path)
    ]


def equal_names(images: Sequence[tuple[str | None, str]], encoding_format: str) -> list[str]:
    """Return the names that would collide in a dataset of PNGs, because they differ only in their suffix.

    Parameters
    ----------
    images : sequence of (path, sample id)
        The path of each image in the source, or None, and the id of its sample.
    encoding_format : {"jpeg", "png"}
        The format in which the dataset stores images.
    """
    if encoding_format != "png":
        return []
    names: dict[str, list[str]] = {}
    for path, sample_id in images:
        kept = preserved_path(path, sample_id, encoding_format)
        names.setdefault(kept.casefold(), []).append(path or kept)
    return [f"{' and '.join(paths)}: both would have the suffix .png" for paths in names.values() if len(paths) > 1]


def renamed_note(paths: Iterable[str], encoding_format: str) -> Iterator[str]:
    """Yield a note if a dataset of PNGs changes the suffixes of images that were JPEGs."""
    renamed = [path for path in paths if encoding_format == "png" and format_of_suffix(path) == "jpeg"]
    if renamed:
        yield (
            f"The dataset stores PNG, but the names of {len(renamed):,} images of each set end in the suffix of a "
            f"JPEG ({first_few(renamed, 2)}). In the dataset their suffix is .png, so change it in annotation files "
            "too."
        )
