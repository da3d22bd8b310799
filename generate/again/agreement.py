"""Whether source, code and textures here agree with a manifest, so that its images can be made again."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
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
from ...manifests.records.models import Manifest, PluginRecord, SampleRecord
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
    refuse_unrecorded_source(data, problems, rows)
    return samples


def refuse_unrecorded_source(data: DataSet, problems: Sequence[str], rows: Sequence[tuple[str, int | None, str]]) -> None:
    """Raise `SourceError` if samples, as (id, label, sha256) in `rows`, are not those of a data set; `problems` says which."""
    digest, recorded = source_digest(rows), data.manifest.source.digest
    if problems or digest != recorded:
        problems = problems or [f"the digest of the selection is {digest}, expected {recorded}"]
        raise SourceError(
            f"The source is not the one that {data.path} was made from:\n{listed(problems)}\nName the right one with --source."
        )


def _refuse(data: DataSet, what: str, problems: Sequence[str], then: str) -> None:
    if problems:
        raise VerificationError(f"{data.path} {what}:\n{listed(problems)}\n{then}")


def refuse_unrecorded_code(data: DataSet) -> None:
    """Raise `VerificationError` if corruptions have other revisions here, are another plugin's, or take no such parameters."""
    manifest = data.manifest
    _refuse(
        data,
        "was made with corruptions of plugins that are missing or others here",
        [problem for record in manifest.plugins for problem in _plugin_problems(record, manifest.revisions)],
        "Nothing can be made again without the recorded source; verifying and reading need no plugin.",
    )
    here = {
        n: f"revision {get_corruption(n).revision} here," if is_corruption(n) else "not known here, revision" for n in manifest.revisions
    }
    _refuse(
        data,
        "was made by other revisions of corruptions than are installed",
        [f"{n}: {here[n]} {r} in the data set" for n, r in manifest.revisions.items() if here[n] != f"revision {r} here,"],
        f"Install corruptset {manifest.environment.get('corruptset', '(the release that made it)')} to make samples again.",
    )
    stages = (stage for one in manifest.sets for stage in one.stages)
    unknown = {problem for stage in stages for problem in _parameter_problems(stage.corruption, stage.parameters)}
    _refuse(data, "names parameters that corruptions do not take", sorted(unknown), "Nothing can be made from it.")


def _plugin_problems(record: PluginRecord, revisions: Container[str]) -> Iterator[str]:
    called = record.module if record.version is None else f"{record.module} {record.version}"
    used = [name for name in record.corruptions if name in revisions]
    if missing := [name for name in used if not is_corruption(name)]:
        yield f"{called} ({', '.join(missing)}): is not loaded. Name it with --plugin {record.module}, or its file"
        return
    here = plugins_of(used)
    if used and [plugin.sha256 for plugin in here] != [record.sha256]:
        found = ", ".join(f"{p.module} with {p.sha256}" for p in here) or "corruptset's own"
        yield f"{called} ({', '.join(used)}): has the source {record.sha256}; here it is {found}"


def _parameter_problems(name: str, parameters: dict[str, Any]) -> list[str]:
    if not is_corruption(name):
        return [f"{name}: not known here"]
    known = {p.name: p for p in get_corruption(name).parameters}
    problems = [f"{name}: {p.name!r} is missing" for p in get_corruption(name).columns if p.name not in parameters]
    for key, value in parameters.items():
        try:
            known[key].checked(value, name)
        except KeyError:
            problems.append(f"{name}: unknown parameter {key!r}")
        except ParameterError as e:
            problems.append(str(e))
    return problems


def refuse_unrecorded_textures(data: DataSet, frost_textures: str | Path | None) -> None:
    """Raise `VerificationError` if the frost textures are not those of the data set."""
    wanted = [t.sha256 for t in data.manifest.textures]
    if not wanted:
        return
    if frost_textures is not None:
        # Which texture an image gets follows from how many there are and from their order, too.
        other = [sha256 for _, sha256 in load_textures(frost_textures).records()] != wanted
    else:
        spec = parse_preprocessing(data.manifest.preprocessing)
        shapes = {spec.size(s.width, s.height) for s in data.samples}
        other = {sha256 for w, h in shapes for _, sha256 in default_textures(h, w).records()} != set(wanted)
    if other:
        raise VerificationError(
            f"{data.path} was made with other frost textures than these. Give the directory of textures that it was built with "
            "(frost_textures), or install the release of corruptset that made it."
        )


def refuse_unrecorded_surrogate(data: DataSet, surrogate: Surrogate) -> None:
    """Raise `VerificationError` if a model is not the one of the data set; torch, device and batch may be others."""
    recorded, given = data.manifest.surrogates[0], surrogate.record()
    keys = sorted((recorded.keys() | given.keys()) - {"torch", "device", "batch"})
    _refuse(
        data,
        "follows the gradients of another model than the one given",
        [f"{k}: recorded {recorded.get(k)!r}, given {given.get(k)!r}" for k in keys if recorded.get(k) != given.get(k)],
        "Name the file of the one it was built with (--surrogate).",
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
