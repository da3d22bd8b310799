"""The public function `page`, which writes the HTML page of a finished dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...corruptions.registry import Images
from ...errors import BuildError, MachineError, VerificationError
from ...files import reason
from ...manifests.disk.atomic import write_atomic
from ...manifests.manifest_file import result_path
from ...manifests.paths import PARTIAL, with_name
from ...manifests.reader import Dataset
from ...manifests.records.report import ProgressCallback
from ...progress import progress_function, shows_progress
from ..page.build_page import build_page
from ..page.thumbnails import CleanOf
from ..pixels.preprocessing import parse_preprocessing
from ..plan.job import CheckedSample, load_clean
from ..sources.source import Source
from .agreement import clean_difference, match_records
from .inputs import RemakeOptions
from .recorded_build import open_recorded_source


@dataclass(frozen=True)
class PageMade:
    """The result of `page`."""

    path: Path
    digest: str
    """The digest of the dataset."""
    bytes: int
    clean: bool
    """Whether the page shows clean images."""


@shows_progress("page")
def page(
    directory: str | Path,
    source: str | Source | None = None,
    *,
    out: str | Path | None = None,
    labels: str | Path | None = None,
    images: str | None = None,
    groups: str | Path | None = None,
    progress: ProgressCallback | bool | None = None,
) -> PageMade:
    """Write the page of a finished dataset to an HTML file. The dataset is not changed.

    If clean images are available, from the set ``clean`` or from the source, the page is identical to the index.html
    that a build writes. Otherwise it shows no clean images.

    Parameters
    ----------
    directory : path
        The dataset.
    source : str or Source, optional
        The source of the dataset, for clean images that the dataset does not store. It is not needed if the dataset was
        built from the source ``sample``.
    out : path, optional
        The HTML file to write. It must not be inside a dataset. The default is ``<name>-<version>.html`` next to the
        dataset.
    labels, images, groups : optional
        The options with which the build read its source.
    progress : callable or bool, optional
        Called with the step, the amount done and the total. By default, a progress bar is shown in terminals and
        notebooks. False disables it.

    Returns
    -------
    PageMade

    Raises
    ------
    IncompleteBuild
        The dataset is not finished.
    VerificationError
        Records or images cannot be read.
    SourceError
        The source cannot be read, or is not the recorded one.
    StoreError
        `directory` is a URL.
    ParameterError
        `out` is inside a dataset, or does not end in .html.
    BuildError
        Only a part of the dataset has been unpacked.
    MachineError
        The file cannot be written.
    """
    data = Dataset(directory)
    root = with_name(data.path)
    if (root / PARTIAL).exists():
        raise BuildError(
            f"{root} is only a part of a dataset, but a page shows all sets. Unpack its other archives first."
        )
    file = result_path(out or root.with_name(f"{root.name}.html"), is_page=True)
    clean_of = clean_images(data, RemakeOptions(source=source, labels=labels, images=images, groups=groups))
    progress_function(progress)("drawing", 0, 0)
    text = build_page(data, clean_of)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text)
    except OSError as e:
        raise MachineError(f"{file} cannot be written: {reason(e)}.") from e
    return PageMade(file, data.digest, len(text), clean_of is not None or "clean" in data)


def clean_images(data: Dataset, options: RemakeOptions) -> CleanOf | None:
    """Return a function that loads clean images from the source, or None.

    The result is None if the dataset stores clean images. It is also None if no source was given, unless the dataset
    was built from ``sample``.

    Raises
    ------
    SourceError
        The source cannot be read, or is not the recorded one. The returned function may raise the same error.
    """
    if "clean" in data or (options.source is None and data.manifest.source.name != "sample"):
        return None
    source = open_recorded_source(data, options)
    samples = match_records(data, source)
    preprocessing = parse_preprocessing(data.manifest.preprocessing)

    def clean_of(index: int) -> Images:
        record = data.sample(index)
        chosen = CheckedSample(samples[index], record.sha256, record.width, record.height)
        image = load_clean(source, chosen, preprocessing)
        if difference := clean_difference(data, index, image):
            raise VerificationError(f"{data.path}: {difference}")
        return image

    return clean_of
