"""Whether source, code and textures here agree with a manifest, so that its images can be made again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...corruptions.models.surrogate import Surrogate
from ...corruptions.plugins import plugins_of
from ...corruptions.registry import get_corruption, is_corruption
from ...corruptions.weather.textures import default_textures, load_textures
from ...errors import ParameterError, SourceError, VerificationError, listed
from ...manifests.reader import DataSet
from ...manifests.records.digests import source_digest
from ...manifests.records.models import Manifest, SampleRecord
from ...manifests.records.report import Progress
from ..pixels.preprocessing import parse_preprocessing
from ..sources.source import BadSample, Sample, Source


def differing(record: SampleRecord, sample: Sample, sha256: str) -> list[str]:
    """Return where a sample of a source is not the recorded one."""
    problems = [f"{record.id}: is {sha256}, expected {record.sha256}"] if sha256 != record.sha256 else []
    problems += [f"{record.id}: has label {sample.label}, expected {record.label}"] if sample.label != record.label else []
    # a source that is opened without its CSV of groups has none to compare
    other = sample.group is not None and sample.group != record.group
    return problems + ([f"{record.id}: has group {sample.group!r}, expected {record.group!r}"] if other else [])


def differing_classes(manifest: Manifest, source: Source) -> list[str]:
    """Return where a source and a manifest have different names for a class; nothing where the source only numbers classes.

    The folders of another kind of source may be others: only its names count.
    """
    same = source.scheme == manifest.source.name
    theirs, ours = list(source.classes), manifest.classes
    if not same and all(c.name == str(c.index) for c in theirs):
        return []
    problems = [f"it has {len(theirs)} classes, recorded are {len(ours)}"] if len(theirs) != len(ours) else []
    for actual, recorded in zip(theirs, ours, strict=False):
        if actual.name != recorded.name:
            problems.append(f"it calls class {actual.index} {actual.name!r}, recorded is {recorded.name!r}")
        elif same and actual.folder != recorded.folder:
            problems.append(f"its folder of class {actual.index} is {actual.folder!r}, recorded is {recorded.folder!r}")
    return problems


def differing_paths(data: DataSet, source: Source, samples: Sequence[Sample]) -> Iterator[str]:
    """Yield which samples have other paths in the source; those of another kind of source are not compared.

    ImageNet's images are laid out flat or in class folders, and have the same ids.
    """
    if source.scheme != data.manifest.source.name:
        return
    for record, sample in zip(data.samples, samples, strict=True):
        known = {sample.path}
        if source.scheme == "imagenet" and sample.path is not None and sample.label is not None:
            name = sample.path.rpartition("/")[2]
            known |= {name, f"{source.classes[sample.label].folder}/{name}"}
        if record.path not in known:
            yield f"{record.id}: its path in the source is {sample.path!r}, recorded is {record.path!r}"


def matched(data: DataSet, source: Source, progress: Progress = lambda *_: None) -> list[Sample]:
    """Return the source's samples of the data set, after holding the source to its digest; the step of `progress` is "source"."""
    by_id = {s.id: s for s in source.samples}
    problems: list[str] = []
    samples: list[Sample] = []
    rows: list[tuple[str, int | None, str]] = []
    for done, record in enumerate(data.samples, 1):
        progress("source", done, len(data.samples))
        sample = by_id.get(record.id)
        if sample is None:
            problems.append(f"{record.id}: is not in the source")
            continue
        try:
            sha256 = source.fingerprint(sample)
        except BadSample as e:
            problems.append(f"{record.id}: {e}")
            continue
        problems += differing(record, sample, sha256)
        samples.append(sample)
        rows.append((sample.id, sample.label, sha256))
    refuse_unrecorded_source(problems, rows, data.manifest, data.path)
    return samples


def refuse_unrecorded_source(problems: Sequence[str], rows: Sequence[tuple[str, int | None, str]], manifest: Manifest, where: Path) -> None:
    """Raise `SourceError` if samples, as (id, label, sha256) in `rows`, are not those of a manifest; `problems` says which."""
    if not problems and source_digest(rows) == manifest.source.digest:
        return
    problems = problems or [f"the digest of the selection is {source_digest(rows)}, expected {manifest.source.digest}"]
    raise SourceError(f"The source is not the one that {where} was made from:\n{listed(problems)}\nName the right one with --source.")


def refuse_unrecorded_code(manifest: Manifest, where: Path) -> None:
    """Raise `VerificationError` if corruptions have other revisions here, are another plugin's, or take no such parameters."""
    _refuse_unrecorded_plugins(manifest, where)
    problems = []
    for name, revision in manifest.revisions.items():
        if not is_corruption(name):
            problems.append(f"{name}: not known here, revision {revision} in the data set")
        elif get_corruption(name).revision != revision:
            problems.append(f"{name}: revision {get_corruption(name).revision} here, {revision} in the data set")
    if problems:
        raise VerificationError(
            f"{where} was made by other revisions of corruptions than are installed:\n{listed(problems)}\n"
            f"Install corruptset {manifest.environment.get('corruptset', '(the release that made it)')} to make samples again."
        )
    unknown = sorted({problem for s in manifest.sets for t in s.stages for problem in _parameter_problems(t.corruption, t.parameters)})
    if unknown:
        raise VerificationError(f"{where} names parameters that corruptions do not take:\n{listed(unknown)}\nNothing can be made from it.")


def _refuse_unrecorded_plugins(manifest: Manifest, where: Path) -> None:
    problems = []
    for record in manifest.plugins:
        called = record.module if record.version is None else f"{record.module} {record.version}"
        used = [name for name in record.corruptions if name in manifest.revisions]
        if missing := [name for name in used if not is_corruption(name)]:
            problems.append(f"{called} ({', '.join(missing)}): is not loaded. Name it with --plugin {record.module}, or its file")
            continue
        here = plugins_of(used)
        if [plugin.sha256 for plugin in here] not in ([record.sha256], []) or (used and not here):
            found = ", ".join(f"{p.module} with {p.sha256}" for p in here) or "corruptset's own"
            problems.append(f"{called} ({', '.join(used)}): has the source {record.sha256}; here it is {found}")
    if problems:
        raise VerificationError(
            f"{where} was made with corruptions of plugins that are missing or others here:\n{listed(problems)}\n"
            "Nothing can be made again without the recorded source; verifying and reading need no plugin."
        )


def _parameter_problems(name: str, parameters: dict[str, Any]) -> list[str]:
    if not is_corruption(name):
        return [f"{name}: not known here"]
    known = {p.name: p for p in get_corruption(name).parameters}
    problems = [f"{name}: unknown parameter {key!r}" for key in parameters if key not in known]
    problems += [f"{name}: {p.name!r} is missing" for p in get_corruption(name).columns if p.name not in parameters]
    for key in parameters.keys() & known.keys():
        try:
            known[key].checked(parameters[key], name)
        except ParameterError as e:
            problems.append(str(e))
    return problems


def refuse_unrecorded_textures(manifest: Manifest, samples: Sequence[SampleRecord], frost_textures: str | Path | None, where: Path) -> None:
    """Raise `VerificationError` if the frost textures are not those of the manifest."""
    wanted = [t.sha256 for t in manifest.textures]
    if not wanted:
        return
    if frost_textures is not None:
        # Which texture an image gets follows from how many there are and from their order, too.
        other = [sha256 for _, sha256 in load_textures(frost_textures).records()] != wanted
    else:
        spec = parse_preprocessing(manifest.preprocessing)
        shapes = sorted({spec.size(w, h) for h, w in {(s.height, s.width) for s in samples}})
        other = {sha256 for w, h in shapes for _, sha256 in default_textures(h, w).records()} != set(wanted)
    if other:
        raise VerificationError(
            f"{where} was made with other frost textures than these. Give the directory of textures that it was built with "
            "(frost_textures), or install the release of corruptset that made it."
        )


def refuse_unrecorded_surrogate(manifest: Manifest, surrogate: Surrogate, where: Path) -> None:
    """Raise `VerificationError` if a model is not the one of the manifest; torch, device and batch may be others."""
    recorded, given = manifest.surrogates[0], surrogate.record()
    free = ("torch", "device", "batch")
    problems = [
        f"{key}: recorded {recorded.get(key)!r}, given {given.get(key)!r}"
        for key in sorted((recorded.keys() | given.keys()) - {*free})
        if recorded.get(key) != given.get(key)
    ]
    if problems:
        raise VerificationError(
            f"{where} follows the gradients of another model than the one given:\n{listed(problems)}\n"
            "Name the file of the one it was built with (--surrogate)."
        )


PIXEL_LIBRARIES = ("numba", "numpy", "opencv-python-headless")
"""Those that corruptions compute with."""


def library_advice(manifest: Manifest, *names: str) -> str:
    """Return what to say where other releases of libraries make other bytes: those that differ, or all of `names`."""
    installed = {name: version(name) for name in names}
    others = [f"{name} {manifest.environment[name]} (here {v})" for name, v in installed.items() if manifest.environment.get(name, v) != v]
    if others:
        return f"It was made with {', '.join(others)}; install that."
    return f"{' and '.join(names)}: of the same release here as there."
