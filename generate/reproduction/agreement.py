"""Whether source, code, textures, model and images made anew agree with a manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from ...corruptions.plugins import plugins_of
from ...corruptions.registry import get_corruption, is_corruption
from ...errors import ParameterError, SourceError, VerificationError, listed
from ...manifests.disk.atomic import inside
from ...manifests.disk.jsonl import row_at
from ...manifests.paths import set_path
from ...manifests.reader import Dataset
from ...manifests.records.digests import sha256_bytes, source_digest
from ...manifests.records.models import ImageRecord, Manifest
from ...manifests.records.report import ProgressCallback
from ...pixels import pixel_digest
from ..pixels.encoding import Encoding, encoding_of
from ..plan.builds import CheckedBuild
from ..sources.source import BadSample, Sample, Source

PIXEL_LIBRARIES = ("numba", "numpy", "opencv-python-headless")
"""Those that corruptions compute with."""


def held_to_records(
    data: Dataset,
    source: Source,
    sha256_of: Callable[[Sample], str] | None = None,
    progress: ProgressCallback = lambda *_: None,
) -> list[Sample]:
    """Return the source's samples of a data set, in its order.

    `sha256_of` says the hash of a sample, or raises `BadSample`; without it bytes are not compared. The step of
    `progress` is "source".

    Raises
    ------
    SourceError
        Ids, labels, groups or bytes are others; all are listed.
    """
    by_id = {s.id: s for s in source.samples}
    problems: list[str] = []
    samples: list[Sample] = []
    rows: list[tuple[str, int | None, str]] = []
    for done, record in enumerate(data.samples, 1):
        progress("source", done, len(data.samples))
        try:
            if (sample := by_id.get(record.id)) is None:
                raise BadSample("is not in the source")
            sha256 = record.sha256 if sha256_of is None else sha256_of(sample)
        except BadSample as e:
            problems.append(f"{record.id}: {e}")
            continue
        compared = [("is", sha256, record.sha256), ("has label", sample.label, record.label)]
        if sample.group is not None:  # a source that is opened without its CSV of groups has none to compare
            compared.append(("has group", repr(sample.group), repr(record.group)))
        problems += [f"{record.id}: {what} {here}, expected {there}" for what, here, there in compared if here != there]
        samples.append(sample)
        rows.append((sample.id, sample.label, sha256))
    if not problems and (digest := source_digest(rows)) != data.manifest.source.digest:
        problems = [f"the digest of the selection is {digest}, expected {data.manifest.source.digest}"]
    if problems:
        raise SourceError(
            f"The source is not the one that {data.name} was made from:\n{listed(problems)}\nName the right one with "
            "--source."
        )
    return samples


def differing_classes(manifest: Manifest, source: Source) -> list[str]:
    """Return where a source and a manifest have different names for a class.

    Another kind of source may have other folders, or only number its classes.
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


def refuse_unrecorded_code(data: Dataset) -> None:
    """Raise `VerificationError` if corruptions have other revisions, plugins or parameters than the recorded ones."""
    manifest = data.manifest
    if problems := list(_plugin_problems(manifest)) or list(_revision_problems(manifest)):
        raise VerificationError(
            f"{data.name} was made by other corruptions than are here:\n{listed(problems)}\nInstall corruptset "
            f"{manifest.environment.get('corruptset', '(the release that made it)')}, and the plugins as they were, "
            "to make samples again; verifying and reading need neither."
        )


def _plugin_problems(manifest: Manifest) -> Iterator[str]:
    for record in manifest.plugins:
        called = record.module if record.version is None else f"{record.module} {record.version}"
        used = [name for name in record.corruptions if name in manifest.revisions]
        if missing := [name for name in used if not is_corruption(name)]:
            yield f"{called} ({', '.join(missing)}): is not loaded. Name it with --plugin {record.module}, or its file"
        elif used and {plugin.sha256 for plugin in plugins_of(used)} != {record.sha256}:
            found = ", ".join(f"{p.module} with {p.sha256}" for p in plugins_of(used)) or "corruptset's own"
            yield f"{called} ({', '.join(used)}): has the source {record.sha256}; here it is {found}"


def _revision_problems(manifest: Manifest) -> Iterator[str]:
    for name, revision in manifest.revisions.items():
        here = f"revision {get_corruption(name).revision}" if is_corruption(name) else "not known"
        if here != f"revision {revision}":
            yield f"{name}: {here} here, {revision} in the data set"
            continue
        known = {p.name: p for p in get_corruption(name).parameters}
        columns = {p.name for p in get_corruption(name).columns}
        problems = set()
        for parameters in (t.parameters for s in manifest.sets for t in s.stages if t.corruption == name):
            problems |= {f"{name}: {column!r} is missing" for column in columns - parameters.keys()}
            problems |= {f"{name}: unknown parameter {key!r}" for key in parameters.keys() - known.keys()}
            for key in parameters.keys() & known.keys():
                try:
                    known[key].checked(parameters[key], name)
                except ParameterError as e:
                    problems.add(str(e))
        yield from sorted(problems)


def refuse_unrecorded_resources(data: Dataset, build: CheckedBuild) -> None:
    """Raise `VerificationError` if frost's textures or the model are not those of the data set.

    Torch, device and batch may be others.
    """
    manifest, here = data.manifest, build.header_of(build.requested)
    # which texture an image gets follows from how many there are and from their order, too
    if here.textures and [t.sha256 for t in here.textures] != [t.sha256 for t in manifest.textures]:
        raise VerificationError(
            f"{data.name} was made with other frost textures than these. Give the directory of textures that it was "
            "built with (frost_textures), or install the release of corruptset that made it."
        )
    for recorded, given in zip(manifest.surrogates, here.surrogates, strict=False):
        if problems := [
            f"{k}: recorded {recorded.get(k)!r}, given {given.get(k)!r}"
            for k in sorted((recorded.keys() | given.keys()) - {"torch", "device", "batch"})
            if recorded.get(k) != given.get(k)
        ]:
            raise VerificationError(
                f"{data.name} follows the gradients of another model than the one given:\n{listed(problems)}\n"
                "Name the file of the one it was built with (--surrogate)."
            )


def clean_difference(data: Dataset, index: int, image: NDArray[np.uint8]) -> str | None:
    """Return how a clean image differs from its recorded digest, and why, or None."""
    sample, made = data.sample(index), pixel_digest(image)
    if made == sample.pixels:
        return None
    return (
        f"{sample.id}: the image of clean is {made}, made again; recorded is {sample.pixels}. The source is decoded "
        f"or resized otherwise here. {library_advice(data.manifest, 'pillow')}"
    )


def differences(
    data: Dataset, set_id: str, index: int, image: NDArray[np.uint8], encoding: Encoding, *, raw: bool
) -> Iterator[tuple[str, str]]:
    """Yield (path, what differs) of an image: its pixels, else its stored bytes.

    Parameters
    ----------
    data : Dataset
    set_id, index : str, int
    image : (H, W, C) ndarray of uint8
    encoding : Encoding
        The data set's.
    raw : bool
        Whether to compare what is stored without loss, too: its bytes follow from its pixels and the release of OpenCV.
    """
    path, name = set_path(set_id), f"{data.sample(index).id}: the image of {set_id}"
    row = row_at(inside(data.path, path), ImageRecord, index)
    if (made := pixel_digest(image)) != row.pixels:
        advice = library_advice(data.manifest, *PIXEL_LIBRARIES)
        yield path, f"{name} is {made}, made again; recorded is {row.pixels}. {advice}"
        return
    for stored in row.files if raw or not encoding.lossless else ():
        own = encoding_of(stored.path, encoding)
        pixels = stored.row is not None and encoding.lossless
        sha256 = sha256_bytes(np.ascontiguousarray(image).data if pixels else own.encode(image))
        if sha256 != stored.sha256:
            advice = library_advice(data.manifest, "opencv-python-headless")
            where = stored.path if stored.row is None else f"{stored.path}#{stored.row}"
            yield where, f"{name}, encoded, is {sha256}, made again; recorded is {stored.sha256}. {advice}"


def library_advice(manifest: Manifest, *names: str) -> str:
    """Return which releases of the named libraries may make other bytes."""
    here = {name: version(name) for name in names}
    there = {name: manifest.environment.get(name, here[name]) for name in names}
    if others := [f"{name} {there[name]} (here {here[name]})" for name in names if there[name] != here[name]]:
        return f"It was made with {', '.join(others)}; install that."
    return f"{' and '.join(names)}: of the same release here as there."
