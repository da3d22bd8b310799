"""The audit of a corrupted dataset: what its sets contain, compared with what their names promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..corruptions.weather.textures import load_textures
from ..errors import ImageError, ParameterError, suggest
from ..generate.sources.source import Source, named_source, open_source
from ..manifests.records.report import Progress
from ..progress import progress_function, shows_progress
from .archives import BENCHMARKS, PublishedBenchmark, archives, benchmark_of, md5_of
from .comparison import SourceComparison
from .found_set import FoundData
from .inventory import duplicates, missing_sets, repeated_labels
from .layouts import read_data
from .loaded_sets import loaded
from .page import write_page
from .records import Audit, Finding
from .set_audit import Audited
from .without_source import without_source

LEAST_SAMPLES = 2
"""The smallest number of images per set that an audit compares."""


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
    out: Path | str | None = None,
    progress: Progress | bool | None = None,
) -> Audit:
    """Say what a corrupted dataset contains, compared with what its names promise.

    Parameters
    ----------
    data : path, or mapping of str to sequence of (image, label)
        The folder of a corrupted dataset, one of its archives or arrays, or what a loader returns for each set. The
        keys of a mapping are set ids such as ``"fog/3"``. Its images are arrays, tensors or PIL images that are not
        normalised. Docs/audit.md lists the layouts.
    source : str or Source, optional
        The clean images, such as ``"imagenet:/data"`` (docs/sources.md). Without it, only checksums, names, numbers of
        images, encodings and labels are checked, and whether the sets show the same images.
    labels : path or str, optional
        The labels of the source, where it needs some.
    benchmark : str, optional
        The published benchmark, such as ``"imagenet-c"``. By default it follows from names and the size of images.
    sets : sequence of str, optional
        Globs over the ids of the sets to audit.
    samples : int
        The number of images per set that are compared.
    frost_textures : path, optional
        The folder of the photographs that frost was made with. With them, frost is compared pixel by pixel.
    out : path, optional
        An HTML file that receives the report.
    progress : callable or bool, optional
        Called with the step, the number of audited sets and the total. By default a bar is shown in a terminal and in a
        notebook; False shows none.

    Returns
    -------
    Audit

    Raises
    ------
    SourceError
        No dataset is recognised in `data`, or the source cannot be read.
    ParameterError
        An argument is invalid.

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
    loader = isinstance(data, Mapping)
    if not loader:
        path = Path(data).expanduser()
        if path.is_file() and path.suffix != ".npy":
            return _archive(path)
    found = loaded(data) if loader else read_data(path)
    chosen = [s for s in found.sets if sets is None or any(fnmatchcase(s.id, pattern) for pattern in sets)]
    if not chosen:
        raise ParameterError(f"No set is called {', '.join(map(repr, sets or ['']))}. {_known_sets(found)}")
    found = replace(found, sets=chosen)
    published = BENCHMARKS[benchmark] if benchmark is not None else _guessed(found)
    textures = None if frost_textures is None else load_textures(frost_textures)
    given = named_source(source) if source is not None else None
    opened = open_source(given, labels=labels) if isinstance(given, str) else given
    tell = progress_function(progress)
    if opened is None:
        audited = without_source(found, published, samples, loader=loader)
    else:
        audited = SourceComparison(found, published, opened, samples, textures, loader=loader).run(tell)
    result = _finished(
        found, published, audited, given, complete=sets is None and not loader and found.preprocessing is None
    )
    if out is not None:
        write_page(Path(out), result, {id: one.pictures for id, one in audited.items()})
    return result


def _archive(path: Path) -> Audit:
    """Return what an archive is, by its checksum."""
    digest, size = md5_of(path), path.stat().st_size
    for known in archives():
        if known.md5 == digest:
            return Audit(known.benchmark, f"{known.name} ({known.source})")
    same_size = [known for known in archives() if known.bytes == size]
    hint = f" It has the size of {same_size[0].name}, so it is damaged." if same_size else ""
    text = (
        f"The checksum (MD5 {digest}) is not that of a published archive that corruptset knows.{hint} Unpack the "
        "archive, and audit the folder."
    )
    return Audit(
        None, None, findings=(Finding("known_defect", text),) if same_size else (Finding("unknown_set", text),)
    )


def _known_sets(found: FoundData) -> str:
    return f"The data has {', '.join(s.id for s in found.sets[:8])}{', ...' * (len(found.sets) > 8)}."


def _guessed(found: FoundData) -> PublishedBenchmark | None:
    """Return the benchmark of which the data looks like a copy."""
    if found.name is not None:
        return BENCHMARKS[found.name]
    names = {s.corruption for s in found.sets if s.corruption is not None} - {"clean"}
    for one in found.sets:
        try:
            shape = one.read(0).shape
        except (ImageError, IndexError):
            continue
        classes = len(found.classes)
        if not classes and one.labels_cheap and not one.named:
            classes = max((int(label) for i in range(one.count) if (label := one.label(i)) is not None), default=0) + 1
        return benchmark_of(names, (shape[0], shape[1], shape[2]), classes)
    return None


def _finished(
    found: FoundData,
    published: PublishedBenchmark | None,
    audited: Mapping[str, Audited],
    source: Any,
    *,
    complete: bool,
) -> Audit:
    """Return the audit with the findings that concern several sets."""
    same, labels = duplicates({id: one.digest for id, one in audited.items()}), repeated_labels(found.sets)
    sets = {}
    for id, one in audited.items():
        extra = [table[id] for table in (same, labels) if id in table]
        sets[id] = replace(one.result, findings=(*one.result.findings, *extra))
    findings = [Finding(code, text) for code, text in found.remarks]  # type: ignore[arg-type]
    findings += missing_sets(found, published) if complete else []
    name = source if isinstance(source, str | None) else source.scheme
    return Audit(None if published is None else published.name, None, sets, tuple(findings), name)
