"""The public function `open`, which opens a finished dataset, or computes a dataset from its records and its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...errors import ParameterError
from ...manifests.reader import Dataset
from ...manifests.reading.image_store import Container
from ...manifests.records.report import ProgressCallback

if TYPE_CHECKING:
    from ..sources.source import Source


def open(
    directory: Path | str,
    *,
    prefer: Container | None = None,
    source: str | Source | None = None,
    check: Literal["first", "each", "never"] = "first",
    labels: Path | str | None = None,
    images: str | None = None,
    groups: Path | str | None = None,
    frost_textures: Path | str | None = None,
    plugins: Sequence[Path | str] | None = None,
    progress: ProgressCallback | bool | None = None,
) -> Dataset:
    """Open a finished dataset, or compute its images from its records and its source.

    Parameters
    ----------
    directory : path
        The directory that contains manifest.json. With `source`, it can also be a folder that ``pack --manifest-only``
        wrote.
    prefer : {"folder", "hdf5"}, optional
        The container to read from, if the dataset has both. By default, images are read from shards if the shards
        contain raw pixels, and otherwise from image files.
    source : str or Source, optional
        The source from which the dataset was built, such as ``"imagenet:/data"`` (docs/sources.md). Each image is
        computed from the source when you access it. Stored images are not read, but the computed images have the same
        pixels.
    check : {"first", "each", "never"}
        With `source`, the images to compare with their recorded digests. ``"first"`` compares the first accessed image
        of every set and every thousandth sample, ``"each"`` compares all images, and ``"never"`` compares none.
        ``"never"`` also skips hashing all source files in advance; instead, each file is checked when it is read.
    labels, images, groups : optional
        With `source`, the options with which the build read the source.
    frost_textures : path, optional
        With `source`, the folder of frost textures with which the dataset was built.
    plugins : sequence of str or path, optional
        With `source`, Python modules or files that define corruptions that are not part of corruptset.
    progress : callable or bool, optional
        With `source`, called with the step "source", the number of hashed images and the total. By default, a progress
        bar is shown in terminals and notebooks. False disables it.

    Returns
    -------
    Dataset

    Raises
    ------
    IncompleteBuild
        There is no manifest.json.
    VerificationError
        manifest.json is not a valid manifest. With `source`, corruptions, parameters, textures or an image differ from
        the recorded ones.
    SourceError
        The source cannot be read, or is not the recorded one.
    ParameterError
        The dataset does not have the container `prefer`, or the arguments cannot be combined.

    Notes
    -----
    Only the fields of the manifest are checked. `corruptset.verify` checks the rest.

    Examples
    --------
    >>> import corruptset
    >>> data = corruptset.open("corruptset-out/imagenet-c-1.1.0")  # doctest: +SKIP
    >>> for image, label in data["fog/3"]:  # doctest: +SKIP
    ...     predict(image)
    """
    remade = {"labels": labels, "images": images, "groups": groups}
    remade |= {"frost_textures": frost_textures, "check": None if check == "first" else check}
    if source is None:
        if given := [name for name, value in remade.items() if value is not None]:
            raise ParameterError(
                f"These arguments are only used with a source: {', '.join(given)}. Add one, such as "
                "source='imagenet:/data'."
            )
        return Dataset(directory, prefer=prefer)
    if prefer is not None:
        raise ParameterError("With a source, images are computed and no container is read. Leave `prefer` out.")
    from .virtual import open_virtual

    return open_virtual(
        directory,
        source,
        check=check,
        labels=labels,
        images=images,
        groups=groups,
        frost_textures=frost_textures,
        plugins=plugins,
        progress=progress,
    )
