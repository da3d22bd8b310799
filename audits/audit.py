"""Audit a corrupted dataset: check whether the images in each set are what the name of the set states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..corruptions.plugins import load_plugins
from ..errors import ParameterError, suggest
from ..generate.sources.source import Source, named_source
from ..manifests.records.report import ProgressCallback
from ..progress import progress_function, shows_progress
from ..workers import workers_at_most
from .archives import BENCHMARKS, PublishedBenchmark, archives, md5_of
from .found_set import FoundData
from .inventory import duplicates, missing_sets, repeated_labels
from .page import write_page
from .records import Audit, Finding
from .request import Request, compare_sets
from .set_audit import Audited
from .without_source import SetsComparison

LEAST_SAMPLES = 2
"""The minimum number of images per set that an audit compares."""


@shows_progress("audit")
def audit(
    data: Any,
    source: str | Source | None = None,
    *,
    labels: Path | str | None = None,
    benchmark: str | None = None,
    sets: Sequence[str] | None = None,
    samples: int = 20,
    frost_textures: Path | str | None = None,
    plugins: Sequence[str | Path] | None = None,
    out: Path | str | None = None,
    jobs: int = 1,
    progress: ProgressCallback | bool | None = None,
) -> Audit:
    """Report what the sets of a corrupted dataset contain, and whether the contents match the set names.

    Parameters
    ----------
    data : path, or mapping of str to sequence of (image, label)
        The folder of a corrupted dataset, one of its archives or arrays, or what a loader returns for each set. The
        keys of a mapping are set ids such as ``"fog/3"``. Its images are arrays, tensors or PIL images that are not
        normalised. docs/audit.md lists the supported layouts.
    source : str or Source, optional
        The clean images, such as ``"imagenet:/data"`` (docs/sources.md). Without a source, an audit checks only
        checksums, names, numbers of images, encodings and labels, and whether the sets show the same images.
    labels : path or str, optional
        The labels of the source, if they must be specified (docs/sources.md).
    benchmark : str, optional
        The published benchmark, such as ``"imagenet-c"``. By default, it is inferred from the names and the image size.
    sets : sequence of str, optional
        Glob patterns for the ids of the sets to audit. By default, all sets are audited.
    samples : int
        The number of images to compare in each set.
    frost_textures : path, optional
        The folder with the photographs from which frost was made. With this folder, frost is compared pixel by pixel.
    plugins : sequence of str or path, optional
        Python modules or files (.py) that define further corruptions. Their code is executed. A dataset that corruptset
        built with plugins can only be audited with them.
    out : path, optional
        The HTML file to write the report to.
    jobs : int
        The number of worker processes. With more than one, `data` must be a path and `source` a string. The results do
        not depend on this number.
    progress : callable or bool, optional
        A function that is called with (step, sets audited, total number of sets). By default a progress bar is shown in
        terminals and notebooks, and False disables it.

    Returns
    -------
    Audit

    Raises
    ------
    SourceError
        If no dataset is recognised in `data`, or if the source cannot be read.
    ParameterError
        If an argument is invalid.

    Examples
    --------
    >>> import corruptset
    >>> result = corruptset.audit("ImageNet-C", "imagenet:/data")  # doctest: +SKIP
    >>> result.sets["fog/3"].verdict  # doctest: +SKIP
    'same_parameters'
    """
    if samples < LEAST_SAMPLES:
        raise ParameterError(f"samples is {samples}; expected at least {LEAST_SAMPLES}.")
    if benchmark is not None and benchmark not in BENCHMARKS:
        raise ParameterError(
            f"There is no published benchmark {benchmark!r}.{suggest(benchmark, BENCHMARKS)} Known: "
            f"{', '.join(BENCHMARKS)}."
        )
    if frost_textures is not None and source is None:
        raise ParameterError(
            "Frost textures are only used to compare images with their source. Pass a source too, or leave "
            "frost_textures (--frost-textures) out."
        )
    if not isinstance(data, Mapping):
        data = Path(data).expanduser()
        if data.is_file() and data.suffix != ".npy":
            return _archive(data)
    request = Request(
        data,
        named_source(source) if source is not None else None,
        None if labels is None else str(labels),
        benchmark,
        None if sets is None else tuple(sets),
        samples,
        None if frost_textures is None else str(frost_textures),
        load_plugins(plugins or ()),
    )
    found = request.found()
    if request.source is None:
        audited = SetsComparison(found, request.published(found), samples, loader=request.loader).run()
    else:
        audited = compare_sets(request, found, workers_at_most(jobs), progress_function(progress))
    complete = sets is None and not request.loader and len(found.sets) > 1 and found.complete
    complete = complete and data.is_dir()
    result = _finish(found, request.published(found), audited, request.source, complete=complete)
    if out is not None:
        write_page(Path(out), result, {id: one.pictures for id, one in audited.items()})
    return result


def _archive(path: Path) -> Audit:
    """Identify a published archive by its checksum."""
    digest, size = md5_of(path), path.stat().st_size
    for known in archives():
        if known.md5 == digest:
            return Audit(known.benchmark, f"{known.name} ({known.source})")
    same_size = [known for known in archives() if known.bytes == size]
    hint = f" It has the size of {same_size[0].name}, so it is a damaged copy of that archive." if same_size else ""
    text = (
        f"The checksum (MD5 {digest}) is not that of a published archive that corruptset knows.{hint} Unpack the "
        "archive, and audit the folder."
    )
    return Audit(
        None, None, findings=(Finding("known_defect", text),) if same_size else (Finding("unknown_set", text),)
    )


def _finish(
    found: FoundData,
    published: PublishedBenchmark | None,
    audited: Mapping[str, Audited],
    source: Any,
    *,
    complete: bool,
) -> Audit:
    """Return the audit, with additional findings that concern several sets."""
    same, labels = duplicates({id: one.digest for id, one in audited.items()}), repeated_labels(found.sets)
    sets = {}
    for id, one in audited.items():
        extra = [table[id] for table in (same, labels) if id in table]
        sets[id] = replace(one.result, findings=(*one.result.findings, *extra))
    findings = [Finding(code, text) for code, text in found.remarks]  # type: ignore[arg-type]
    findings += missing_sets(found, published) if complete else []
    name = source if isinstance(source, str | None) else source.scheme
    return Audit(None if published is None else published.name, None, sets, tuple(findings), name)
