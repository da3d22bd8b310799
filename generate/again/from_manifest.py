"""What a manifest says, held against what is here (source, revisions, textures) and taken up again, so that its images can be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...corruptions.calibrations import SHIPPED, Calibration, shipped
from ...corruptions.registry import corruption_names, get_corruption
from ...corruptions.stages import Stage
from ...corruptions.weather.textures import default_textures, load_textures
from ...errors import ParameterError, SourceError, VerificationError, listed
from ...manifests.reader import DataSet
from ...manifests.records.digests import source_digest
from ...manifests.records.models import ClassRecord, Manifest, SampleRecord
from ...manifests.records.parsing import field_mistakes
from ...pixels import pixel_digest
from ..commit.state import identity_of
from ..pixels.encoding import parse_encoding
from ..pixels.preprocessing import parse_preprocessing
from ..plan.build_spec import BuildOptions, BuildSpec
from ..plan.job import CheckedSample
from ..recipes.choice import choose_sets
from ..recipes.recipe import Recipe
from ..recipes.set_spec import SetSpec
from ..sources.check import Checked
from ..sources.source import SPLIT_SOURCES, BadSample, Sample, Source, open_source
from ..work.worker import load_clean

PROBED = 8
"""Clean images that are made before anything is written: another release of Pillow shows on the first."""


@dataclass(frozen=True)
class Recorded(BuildSpec):
    """A build as its manifest and its samples have it: the same sets, the same selection, whatever recipes are shipped today."""

    manifest: Manifest
    samples: tuple[SampleRecord, ...]
    where: Path
    """What errors call the manifest."""

    @property
    def classes(self) -> tuple[ClassRecord, ...]:
        """The manifest's: a source in another form may have other folders."""
        return tuple(self.manifest.classes)

    def identity(self, chosen: Sequence[CheckedSample], source_digest: str, excluded: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the manifest's own."""
        return identity_of(self.manifest)

    def accept(self, found: Checked) -> list[tuple[str, str]]:
        """Hold the checked samples against the records, then a few clean images: both before anything is written."""
        bad = dict(found.bad)
        by_id = {sample.id: (sample, sha256) for sample, sha256, *_ in found.good}
        problems: list[str] = []
        for sample, record in zip(self.selected, self.samples, strict=True):
            if record.id not in by_id:
                problems.append(f"{record.id}: {bad.get(sample.path or sample.id, 'cannot be used')}")
            else:
                problems += differing(record, sample, by_id[record.id][1])
        refuse_other_source(problems, [(s.id, s.label, sha256) for s, sha256, *_ in found.good], self.manifest, self.where)
        self._refuse_other_pixels([CheckedSample(*entry) for entry in found.good])
        return [(e.path, e.reason) for e in self.manifest.excluded]

    def _refuse_other_pixels(self, chosen: Sequence[CheckedSample]) -> None:
        count = min(PROBED, len(chosen))
        picks = [(i * len(chosen)) // count for i in range(count)]
        problems = []
        for i in picks:
            got = pixel_digest(load_clean(self.source, chosen[i], self.recipe.preprocessing))
            if got != self.samples[i].pixels:
                problems.append(f"{chosen[i].sample.id}: the clean pixels come out as {got}, recorded is {self.samples[i].pixels}")
        if problems:
            raise VerificationError(
                f"The source is the one that {self.where} names, byte for byte, and its images are decoded or resized otherwise here "
                f"({len(problems)} of the {count} looked at):\n{listed(problems)}\n"
                f"{library_advice(self.manifest, 'pillow')} Nothing was written."
            )


def recorded(
    manifest: Manifest,
    samples: Sequence[SampleRecord],
    where: Path,
    source: Source,
    *,
    sets: Sequence[str] | None = None,
    jobs: int | None = None,
    frost_textures: str | Path | None = None,
) -> Recorded:
    """Return the build of a manifest, so that it can be made from `source`.

    Raises
    ------
    SourceError
        The source lacks samples, or has other classes.
    VerificationError
        Corruptions, textures or parameters are others than here.
    UnknownCorruption
        A pattern of `sets` matches none of the manifest's sets.
    """
    refuse_other_code(manifest, where)
    refuse_other_textures(manifest, samples, frost_textures, where)
    everything = specs_of(manifest)
    asked = tuple(s.id for s in choose_sets(everything, sets))
    preprocessing = parse_preprocessing(manifest.preprocessing)
    encoding = parse_encoding(manifest.encoding)
    recipe = _recipe(manifest, everything, where)
    by_id = {s.id: s for s in source.samples}
    absent = [f"{s.id}: is not in the source" for s in samples if s.id not in by_id]
    if absent:
        refuse_other_source(absent, [], manifest, where)
    if problems := differing_classes(manifest, source):
        raise SourceError(
            f"The source has other classes than {where} names:\n{listed(problems)}\n"
            "Name the source (--source) and the labels (--labels) that it was made from."
        )
    containers = tuple(manifest.encoding["containers"])
    sizes = [preprocessing.size(s.width, s.height) for s in samples]
    return Recorded(
        recipe=recipe,
        table=Calibration(recipe.calibration, side_of(manifest), {}),  # without rows: every parameter stands in the manifest
        source=source,
        options=BuildOptions(
            seed=manifest.seed,
            jobs=jobs,
            sets=sets,
            coupling=manifest.coupling,
            scale=manifest.scale,
            metrics=identity_of(manifest)["metrics"],
            frost_textures=frost_textures,
            view=str(manifest.views[0].get("view")) if containers == ("view",) else None,
        ),
        selected=tuple(by_id[s.id] for s in samples),
        everything=tuple(everything),
        asked=asked,
        encoding=encoding,
        containers=containers,
        image_size=(round(sum(w for w, _ in sizes) / len(sizes)), round(sum(h for _, h in sizes) / len(sizes))),
        manifest=manifest,
        samples=tuple(samples),
        where=where,
    )


def _recipe(manifest: Manifest, sets: Sequence[SetSpec], where: Path) -> Recipe:
    """Return the recipe that the sets of a manifest are: each a chain of stages with all parameters given."""
    entries: list[dict[str, Any]] = []
    for spec in sets:
        one: dict[str, Any] = {"aliases": spec.aliases, "role": spec.role}
        stages = [{k: v for k, v in t.as_json().items() if k != "revision"} for t in spec.stages]
        entries.append(one | ({"chain": stages, "id": spec.id} if stages else {"clean": True}))
    record = {
        "name": manifest.name,
        "version": manifest.version,
        "calibration": str(manifest.recipe.get("calibration", "")),
        "scale": manifest.scale,
        "preprocessing": manifest.preprocessing,
        "encoding": parse_encoding(manifest.encoding),
        "sets": entries,
    }
    try:
        return Recipe.model_validate(record)
    except ValidationError as e:
        raise VerificationError(f"{where} names a build that cannot be made:\n{listed(field_mistakes(e))}") from e


def specs_of(manifest: Manifest) -> list[SetSpec]:
    """Return the sets of a manifest in the order of its recipe, clean first where the recipe has none."""
    listed_sets = manifest.recipe.get("sets")
    order: dict[Any, int] = {}
    for n, entry in enumerate(listed_sets if isinstance(listed_sets, list) else []):
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            order.setdefault(entry["id"], n)
    specs = [
        SetSpec(s.id, tuple(Stage(t.corruption, t.revision, t.severity, t.level, t.parameters) for t in s.stages), s.role, tuple(s.aliases))
        for s in manifest.sets
    ]
    return sorted(specs, key=lambda s: order.get(s.id, -1 if not s.stages else len(order)))


def side_of(manifest: Manifest) -> int:
    """Return the reference side of a manifest's calibration."""
    side = manifest.recipe.get("calibration_side")
    if isinstance(side, int) and side > 0:
        return side
    calibration = manifest.recipe.get("calibration")
    if calibration not in SHIPPED:
        raise VerificationError(f"The manifest names the calibration {calibration!r} without its reference side.")
    return shipped(str(calibration)).side


def opened_source(data: DataSet, source: str | Source | None, labels: str | Path | None, images: str | None) -> Source:
    """Return the source that a data set is to be made again from, with the splits that it was made of.

    Raises
    ------
    SourceError
        None was named, and the data set is not of ``sample``.
    """
    if source is None:
        if data.manifest.source.name != "sample":
            raise SourceError(
                f"{data.path} was made from the source '{data.manifest.source.name}': name it with --source (and --labels), "
                "so that samples can be made again from it."
            )
        source = "sample"
    if not isinstance(source, str):
        return source
    splits = source.partition(":")[0] in SPLIT_SOURCES
    split = data.manifest.selection.get("split") if splits else None
    return open_source(source, labels=labels, split=None if split is None else str(split), images=images)


def differing(record: SampleRecord, sample: Sample, sha256: str) -> list[str]:
    """Return where a sample of a source is not the recorded one."""
    problems = [f"{record.id}: is {sha256}, expected {record.sha256}"] if sha256 != record.sha256 else []
    return problems + ([f"{record.id}: has label {sample.label}, expected {record.label}"] if sample.label != record.label else [])


def differing_classes(manifest: Manifest, source: Source) -> list[str]:
    """Return where a source calls a class otherwise than a manifest; nothing where it only numbers what the manifest names.

    The folders of another kind of source may be others: only its names count.
    """
    same = source.scheme == manifest.source.name
    theirs, ours = list(source.classes), manifest.classes
    if not same and all(c.name == str(c.index) for c in theirs):
        return []
    problems = [f"it has {len(theirs)} classes, recorded are {len(ours)}"] if len(theirs) != len(ours) else []
    for here, recorded in zip(theirs, ours, strict=False):
        if here.name != recorded.name:
            problems.append(f"it calls class {here.index} {here.name!r}, recorded is {recorded.name!r}")
        elif same and here.folder != recorded.folder:
            problems.append(f"its folder of class {here.index} is {here.folder!r}, recorded is {recorded.folder!r}")
    return problems


def matched(data: DataSet, source: Source) -> list[Sample]:
    """Return the source's samples of the data set, after holding the source to its digest."""
    by_id = {s.id: s for s in source.samples}
    problems: list[str] = []
    found: list[Sample] = []
    rows: list[tuple[str, int, str]] = []
    for record in data.samples:
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
        found.append(sample)
        rows.append((sample.id, sample.label, sha256))
    refuse_other_source(problems, rows, data.manifest, data.path)
    return found


def refuse_other_source(problems: Sequence[str], rows: Sequence[tuple[str, int, str]], manifest: Manifest, where: Path) -> None:
    """Raise `SourceError` if samples, as (id, label, sha256) in `rows`, are not those of a manifest; `problems` says which."""
    if not problems and source_digest(rows) == manifest.source.digest:
        return
    problems = problems or [f"the digest of the selection is {source_digest(rows)}, expected {manifest.source.digest}"]
    raise SourceError(f"The source is not the one that {where} was made from:\n{listed(problems)}\nName the right one with --source.")


def refuse_other_code(manifest: Manifest, where: Path) -> None:
    """Raise `VerificationError` if corruptions have other revisions here, or take no such parameters."""
    problems = []
    for name, revision in manifest.revisions.items():
        if name not in corruption_names():
            problems.append(f"{name}: not known here, revision {revision} in the data set")
        elif get_corruption(name).revision != revision:
            problems.append(f"{name}: revision {get_corruption(name).revision} here, {revision} in the data set")
    if problems:
        raise VerificationError(
            f"{where} was made by other revisions of corruptions than are installed:\n{listed(problems)}\n"
            f"Install corruptset {manifest.environment.get('corruptset', '(the release that made it)')} to make samples again."
        )
    strange = sorted({problem for s in manifest.sets for t in s.stages for problem in _parameter_problems(t.corruption, t.parameters)})
    if strange:
        raise VerificationError(f"{where} names parameters that corruptions do not take:\n{listed(strange)}\nNothing can be made from it.")


def _parameter_problems(name: str, parameters: dict[str, Any]) -> list[str]:
    if name not in corruption_names():
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


def refuse_other_textures(manifest: Manifest, samples: Sequence[SampleRecord], frost_textures: str | Path | None, where: Path) -> None:
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


def library_advice(manifest: Manifest, *names: str) -> str:
    """Return what to say where other releases of libraries make other bytes: those that differ, or all of `names`."""
    here = {name: version(name) for name in names}
    others = [f"{name} {manifest.environment[name]} (here {v})" for name, v in here.items() if manifest.environment.get(name, v) != v]
    if others:
        return f"It was made with {', '.join(others)}; install that."
    return f"{' and '.join(names)}: of the same release here as there."
