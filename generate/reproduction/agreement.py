"""Compare a source, the installed corruptions and regenerated images with the records of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from ...corruptions.plugins import plugins_of
from ...corruptions.registry import get_corruption, is_corruption
from ...errors import ParameterError, SourceError, VerificationError, format_list
from ...manifests.disk.atomic import path_inside
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
"""The libraries on which the pixels of corrupted images depend."""


def match_records(
    data: Dataset,
    source: Source,
    sha256_of: Callable[[Sample], str] | None = None,
    progress: ProgressCallback = lambda *_: None,
) -> list[Sample]:
    """Find the samples of a dataset in a source, compare them with the dataset's records, and return them.

    The samples are in the order of the dataset.

    Parameters
    ----------
    data : Dataset
        The dataset. Its samples.jsonl records the ids, labels, groups and hashes.
    source : Source
    sha256_of : callable, optional
        A function that returns the SHA-256 of a sample, or raises `BadSample`. Without it, hashes are not compared.
    progress : callable, optional
        Called with the step "source", the number of compared samples and the total.

    Raises
    ------
    SourceError
        Ids, labels, groups or files differ. The message lists the samples.
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
        if sample.group is not None:  # None if the source was opened without its CSV of groups
            compared.append(("has group", repr(sample.group), repr(record.group)))
        problems += [f"{record.id}: {what} {ours}, expected {known}" for what, ours, known in compared if ours != known]
        samples.append(sample)
        rows.append((sample.id, sample.label, sha256))
    if not problems and (digest := source_digest(rows)) != data.manifest.source.digest:
        problems = [f"the digest of the selection is {digest}, expected {data.manifest.source.digest}"]
    if problems:
        raise SourceError(
            f"This is not the source from which {data.name} was built:\n{format_list(problems)}\n"
            "Pass the source of the build with --source."
        )
    return samples


def class_differences(manifest: Manifest, source: Source) -> list[str]:
    """Return one line for each class whose name or folder differs between a source and a manifest.

    If the source has a different scheme from the recorded source, folders are not compared. If, in addition, its class
    names are only numbers, nothing is compared.
    """
    same_scheme = source.scheme == manifest.source.name
    classes, recorded_classes = list(source.classes), manifest.classes
    if not same_scheme and all(c.name == str(c.index) for c in classes):
        return []
    problems = []
    if len(classes) != len(recorded_classes):
        problems.append(f"the source has {len(classes)} classes, but {len(recorded_classes)} are recorded")
    for actual, recorded in zip(classes, recorded_classes, strict=False):
        if actual.name != recorded.name:
            problems.append(f"class {actual.index} is {actual.name!r} in the source, but recorded as {recorded.name!r}")
        elif same_scheme and actual.folder != recorded.folder:
            problems.append(
                f"the folder of class {actual.index} is {actual.folder!r} in the source, but recorded as "
                f"{recorded.folder!r}"
            )
    return problems


def refuse_unrecorded_code(data: Dataset) -> None:
    """Raise `VerificationError` if installed corruptions differ from the recorded ones.

    The revisions, the plugins and the parameters of the corruptions are compared.
    """
    manifest = data.manifest
    if problems := list(_plugin_problems(manifest)) or list(_revision_problems(manifest)):
        raise VerificationError(
            f"{data.name} was built with different corruptions than this installation has:\n{format_list(problems)}\n"
            "To regenerate samples, install corruptset "
            f"{manifest.environment.get('corruptset', '(the release that built it)')} and the plugins of the build. "
            "You can read and verify the dataset without them."
        )


def _plugin_problems(manifest: Manifest) -> Iterator[str]:
    for record in manifest.plugins:
        called = record.module if record.version is None else f"{record.module} {record.version}"
        used = [name for name in record.corruptions if name in manifest.revisions]
        if missing := [name for name in used if not is_corruption(name)]:
            yield f"{called} ({', '.join(missing)}): is not loaded. Pass --plugin {record.module}, or its file"
        elif used and {plugin.sha256 for plugin in plugins_of(used)} != {record.sha256}:
            installed = ", ".join(f"{p.module} with {p.sha256}" for p in plugins_of(used)) or "part of corruptset"
            yield f"{called} ({', '.join(used)}): the source is recorded as {record.sha256}, but here it is {installed}"


def _revision_problems(manifest: Manifest) -> Iterator[str]:
    for name, revision in manifest.revisions.items():
        installed = f"revision {get_corruption(name).revision}" if is_corruption(name) else "not known"
        if installed != f"revision {revision}":
            yield f"{name}: {installed} here, revision {revision} in the dataset"
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
    """Raise `VerificationError` if frost textures or the surrogate model differ from the recorded ones.

    The PyTorch version, the device and the batch size of the model are not compared.
    """
    manifest, header = data.manifest, build.header_of(build.requested)
    # Lists are compared, because the choice of a texture also depends on the number and the order of the textures.
    if header.textures and [t.sha256 for t in header.textures] != [t.sha256 for t in manifest.textures]:
        raise VerificationError(
            f"{data.name} was built with different frost textures. Pass the folder of textures of the build "
            "(--frost-textures, or frost_textures in Python), or install the release of corruptset that built it."
        )
    for recorded, given in zip(manifest.surrogates, header.surrogates, strict=False):
        if problems := [
            f"{k}: recorded {recorded.get(k)!r}, given {given.get(k)!r}"
            for k in sorted((recorded.keys() | given.keys()) - {"torch", "device", "batch"})
            if recorded.get(k) != given.get(k)
        ]:
            raise VerificationError(
                f"{data.name} was built with the gradients of a different model:\n{format_list(problems)}\n"
                "Pass the model file of the build with --surrogate."
            )


def clean_difference(data: Dataset, index: int, image: NDArray[np.uint8]) -> str | None:
    """Return a message if the digest of a clean image differs from the recorded one, or None."""
    sample, digest = data.sample(index), pixel_digest(image)
    if digest == sample.pixels:
        return None
    return (
        f"{sample.id}: the clean image has the digest {digest}, but {sample.pixels} is recorded. The image is decoded "
        f"or resized differently here. {library_advice(data.manifest, 'pillow')}"
    )


def differences(
    data: Dataset, set_id: str, index: int, image: NDArray[np.uint8], encoding: Encoding, *, raw: bool
) -> Iterator[tuple[str, str]]:
    """Yield a path and a message for each difference between a regenerated image and its record.

    If the pixels differ, the encoded bytes are not compared.

    Parameters
    ----------
    data : Dataset
    set_id : str
    index : int
        The index of the sample.
    image : (H, W, C) ndarray of uint8
        The regenerated image.
    encoding : Encoding
        The encoding of the dataset.
    raw : bool
        Whether to compare the encoded bytes of lossless images as well. Apart from the pixels, these bytes depend only
        on the OpenCV version.
    """
    path, name = set_path(set_id), f"{data.sample(index).id}: the image of {set_id}"
    row = row_at(path_inside(data.path, path), ImageRecord, index)
    if (digest := pixel_digest(image)) != row.pixels:
        advice = library_advice(data.manifest, *PIXEL_LIBRARIES)
        yield path, f"{name} has the digest {digest}, but {row.pixels} is recorded. {advice}"
        return
    for stored in row.files if raw or not encoding.lossless else ():
        file_encoding = encoding_of(stored.path, encoding)
        pixels = stored.row is not None and encoding.lossless
        sha256 = sha256_bytes(np.ascontiguousarray(image).data if pixels else file_encoding.encode(image))
        if sha256 != stored.sha256:
            advice = library_advice(data.manifest, "opencv-python-headless")
            place = stored.path if stored.row is None else f"{stored.path}#{stored.row}"
            yield place, f"{name} is encoded to {sha256}, but {stored.sha256} is recorded. {advice}"


def library_advice(manifest: Manifest, *names: str) -> str:
    """Return a sentence that says whether the installed versions of libraries are the recorded ones."""
    installed = {name: version(name) for name in names}
    recorded = {name: manifest.environment.get(name, installed[name]) for name in names}
    differing = [name for name in names if recorded[name] != installed[name]]
    if differing:
        versions = ", ".join(f"{name} {recorded[name]} (here {installed[name]})" for name in differing)
        return f"The dataset was built with {versions}. Install the version{'s' * (len(differing) > 1)} of the build."
    if len(names) == 1:
        return f"The installed version of {names[0]} is the recorded one."
    return f"The installed versions of {', '.join(names)} are the recorded ones."
