"""`page`: the page of a finished dataset, written next to it or elsewhere."""

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
from .agreement import clean_difference, held_to_records
from .inputs import RemakeOptions
from .recorded_build import opened_source


@dataclass(frozen=True)
class PageMade:
    """The page that `page` wrote."""

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
    """Write the page of a finished dataset into an HTML file. The dataset is not changed.

    The page is the one that a build writes into its dataset as index.html, if clean images are available: from the set
    ``clean`` or from the source.

    Parameters
    ----------
    directory : path
        The dataset.
    source : str or Source, optional
        Where clean images come from, if they are not stored; not needed for a build of ``sample``.
    out : path, optional
        The file, which must be outside of datasets. The default is ``<name>-<version>.html`` next to the dataset.
    labels, images, groups : optional
        The options with which the build read its source.
    progress : callable or bool, optional
        Called with the step, what is done and the total. By default a bar is shown in a terminal and in a notebook;
        False shows none.

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
        The source cannot be read, or is another one.
    StoreError
        A URL is given for a local folder.
    ParameterError
        `out` is inside a dataset, or does not end in .html.
    BuildError
        The dataset is a part of one.
    MachineError
        The file cannot be written.
    """
    data = Dataset(directory)
    root = with_name(data.path)
    if (root / PARTIAL).exists():
        raise BuildError(f"{root} is a part of a dataset, and a page shows all of it. Unpack its other archives first.")
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
    """Return what makes clean images that are not stored; None where no source was named.

    Raises
    ------
    SourceError
        The source cannot be read, or is another one; also later, when an image is read.
    """
    if "clean" in data or (options.source is None and data.manifest.source.name != "sample"):
        return None
    source = opened_source(data, options)
    samples = held_to_records(data, source)
    preprocessing = parse_preprocessing(data.manifest.preprocessing)

    def clean_of(index: int) -> Images:
        record = data.sample(index)
        chosen = CheckedSample(samples[index], record.sha256, record.width, record.height)
        image = load_clean(source, chosen, preprocessing)
        if difference := clean_difference(data, index, image):
            raise VerificationError(f"{data.path}: {difference}")
        return image

    return clean_of
