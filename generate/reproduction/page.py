"""The page of a data set, made anew or for the first time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...corruptions.registry import Images
from ...errors import BuildError, MachineError, VerificationError
from ...files import reason
from ...manifests.disk.atomic import write_atomic
from ...manifests.disk.listing import plain_file
from ...manifests.manifest_file import result_path
from ...manifests.paths import PAGE, PARTIAL, WORK_FOLDER
from ...manifests.reader import DataSet
from ...manifests.records.digests import sha256_file
from ...manifests.records.report import Progress
from ...progress import progress_function, shows_progress
from ..commit.interruption import resumable
from ..commit.locks import extended, locked
from ..page.build_page import build_page
from ..page.page_of_build import add_page
from ..page.pictures import CleanOf
from ..pixels.preprocessing import parse_preprocessing
from ..plan.job import CheckedSample, load_clean
from ..sources.source import Source
from .agreement import clean_difference, held_to_records
from .inputs import RemakeOptions
from .recorded_build import opened_source


@dataclass(frozen=True)
class PageMade:
    """A page that was written."""

    path: Path
    digest: str
    """The data set's."""
    bytes: int
    clean: bool
    """Whether it shows clean images."""


@shows_progress("page")
def page(
    directory: str | Path,
    source: str | Source | None = None,
    *,
    out: str | Path | None = None,
    labels: str | Path | None = None,
    images: str | None = None,
    groups: str | Path | None = None,
    progress: Progress | bool | None = None,
) -> PageMade:
    """Make the page of a finished data set: index.html, in it or elsewhere.

    In the data set it becomes one of its files: manifest.json and SHA256SUMS name it, and the digest stays. With the
    source of the data set, or where that has the set ``clean``, it is the page that a build makes.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    source : str or Source, optional
        Where clean images come from, if they are not stored; not needed for a build of ``sample``.
    out : path, optional
        A file to write instead; the data set is then left as it is.
    labels, images, groups : optional
        What the build was given to read its source.
    progress : callable or bool, optional
        Called with the step, what is done and the total. By default a bar is shown in a terminal and in a notebook;
        False shows none.

    Returns
    -------
    PageMade

    Raises
    ------
    IncompleteBuild
        There is no manifest.json.
    VerificationError
        Records or images cannot be read.
    SourceError
        The source cannot be read, or is another one.
    StoreError
        A URL is given for a local folder.
    ParameterError
        `out` lies in a data set, or does not end in .html.
    BuildError
        The data set is a part of one, is being extended, or has a page that the source was needed for.
    MachineError
        The file cannot be written.
    """
    file = None
    if out is not None and Path(out).absolute() != (Path(directory) / PAGE).absolute():
        file = result_path(out, is_page=True)
    data = DataSet(directory)
    root = data.path
    if (root / PARTIAL).exists():
        raise BuildError(f"{root} is a part of a data set; a page shows all of it. Unpack its other archives first.")
    clean_of = clean_images(data, RemakeOptions(source=source, labels=labels, images=images, groups=groups))
    progress_function(progress)("drawing", 0, 0)
    has_clean = clean_of is not None or "clean" in data
    if file is not None:
        text = build_page(data, clean_of)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, text)
        except OSError as e:
            raise MachineError(f"{file} cannot be written: {reason(e)}.") from e
        return PageMade(file, data.digest, len(text), has_clean)
    recorded = {file.path: file.sha256 for file in data.manifest.files}.get(PAGE)
    if not has_clean and plain_file(root, PAGE) and sha256_file(root / PAGE) == recorded:
        raise BuildError(
            f"{root} has its page, and the clean images in it come from the source '{data.manifest.source.name}': name "
            "that with --source, or write a page without them elsewhere with --out."
        )
    if (root / WORK_FOLDER).exists() and extended(root) is not None:
        raise BuildError(
            f"{root} is being extended, which makes its page anew. Finish that, or name a file with --out."
        )
    with resumable(root), locked(root):
        add_page(root, clean_of)
    return PageMade(root / PAGE, data.digest, (root / PAGE).stat().st_size, has_clean)


def clean_images(data: DataSet, options: RemakeOptions) -> CleanOf | None:
    """Return what makes clean images that are not stored; None where no source was named.

    Raises
    ------
    SourceError
        The source cannot be read, or is another one; also later, when an image is asked for.
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
