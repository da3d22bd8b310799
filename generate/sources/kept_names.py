"""File names of a source that the images of a dataset keep, and the names that they cannot keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...errors import first_few
from ...manifests.images.pictures import named_format, own_path
from .image_listing import has_kept_suffix


def suffix_problems(paths: Iterable[str]) -> list[str]:
    """Return the reasons why images cannot keep their paths, because of their suffixes."""
    return [
        f"{path}: its suffix is neither that of a JPEG nor .png, and images keep their names there"
        for path in paths
        if not has_kept_suffix(path)
    ]


def equal_names(images: Sequence[tuple[str | None, str]], encoding_format: str) -> list[str]:
    """Return the names that differ only in their suffix, and would be the same name in a dataset of PNGs.

    `images` are (path in the source, sample id).
    """
    if encoding_format != "png":
        return []
    names: dict[str, list[str]] = {}
    for path, sample_id in images:
        kept = own_path(path, sample_id, encoding_format)
        names.setdefault(kept.casefold(), []).append(path or kept)
    return [f"{' and '.join(paths)}: both would be called .png" for paths in names.values() if len(paths) > 1]


def renamed_note(paths: Iterable[str], encoding_format: str) -> Iterator[str]:
    """Yield a note if a dataset of PNGs changes the suffixes of images that were JPEGs."""
    renamed = [path for path in paths if encoding_format == "png" and named_format(path) == "jpeg"]
    if renamed:
        yield (
            f"The dataset stores PNG, and the names of {len(renamed):,} images of each set end in the suffix of a "
            f"JPEG ({first_few(renamed, 2)}). The suffix of those files is .png instead, so change it in annotation "
            "files too."
        )
