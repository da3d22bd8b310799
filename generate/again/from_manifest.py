"""The build of a manifest, so that its images can be made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...corruptions.calibrations import SHIPPED, shipped
from ...corruptions.plugins import plugins_of
from ...corruptions.registry import Images
from ...corruptions.stages import Stage
from ...errors import SourceError, VerificationError, listed
from ...manifests.layout import PAGE
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest
from ...pixels import pixel_digest
from ..commit.identity import identity_of
from ..pixels.encoding import parse_encoding
from ..pixels.preprocessing import parse_preprocessing
from ..plan.builds import Build
from ..plan.job import CheckedSample, load_clean
from ..plan.recipe_build import mean_size
from ..plan.regions import RegionSamples, RegionStore
from ..plan.resources import load_resources
from ..plan.tree import SetMaker
from ..recipes.choice import choose_sets
from ..recipes.region_table import RegionTable, parse_region_table
from ..recipes.set_spec import SetSpec
from ..regions.region_source import Region, RegionSource
from ..sinks.containers import format_of
from ..sources.check import Checked, check
from ..sources.groups import recorded_hold_out
from ..sources.selection import select, spread
from ..sources.source import GROUPED_SOURCES, SPLIT_SOURCES, Sample, Source, open_source
from .agreement import (
    differing,
    differing_classes,
    library_advice,
    refuse_unrecorded_code,
    refuse_unrecorded_source,
    refuse_unrecorded_surrogate,
    refuse_unrecorded_textures,
)
from .remake_options import RemakeOptions

PROBED = 8
"""Clean images that are made before anything is written: another release of Pillow shows on the first."""


def recorded_build(data: DataSet, source: Source, options: RemakeOptions, *, sets: Sequence[str] | None = None) -> Build:
    """Return the build of a data set's records, so that it can be made from `source`, the one that the options name (`opened_source`).

    Raises
    ------
    SourceError
        The source lacks samples, or has other classes.
    VerificationError
        Corruptions, textures, the surrogate or parameters are others than here.
    UnknownCorruption
        A pattern of `sets` matches none of the manifest's sets.
    """
    manifest, by_id = data.manifest, {s.id: s for s in source.samples}
    refuse_unrecorded_code(data)
    refuse_unrecorded_textures(data, options.frost_textures)
    if absent := [f"{r.id}: is not in the source" for r in data.samples if r.id not in by_id]:
        refuse_unrecorded_source(data, absent, [])
    if problems := differing_classes(manifest, source):
        raise SourceError(
            f"The source has other classes than {data.path} names:\n{listed(problems)}\n"
            "Name the source (--source) and the labels (--labels) that it was made from."
        )
    preprocessing, recorded_sets = parse_preprocessing(manifest.preprocessing), specs_of(manifest)
    asked = choose_sets(recorded_sets, sets)
    # groups may come from a CSV that the user does not have
    selected = tuple(s if s.group is not None else replace(s, group=r.group) for r in data.samples for s in (by_id[r.id],))
    samples = [CheckedSample(s, r.sha256, r.width, r.height) for s, r in zip(selected, data.samples, strict=True)]
    table, identity = recorded_table(manifest, "table"), identity_of(manifest)
    return Build(
        name=manifest.name,
        version=manifest.version,
        source=source,
        classes=tuple(manifest.classes),  # a source in another form may have other folders
        selected=selected,
        samples=samples,
        sets=tuple(recorded_sets),
        asked=tuple(s.id for s in asked),
        preprocessing=preprocessing,
        encoding=parse_encoding(manifest.encoding),
        format=format_of(manifest.encoding["containers"]),
        view=str(manifest.views[0].get("view")) if manifest.encoding["containers"] == ["view"] else None,
        maker=maker_of(data, options, asked),
        plugins=[record.as_json() for record in manifest.plugins],
        metrics=identity["metrics"],
        image_size=mean_size([preprocessing.size(r.width, r.height) for r in data.samples]),
        workers=options.workers,
        accept=lambda found, _: _accept(data, selected, lambda i: load_clean(source, samples[i], preprocessing), found),
        identity=identity,
        regions=None if table is None else RegionStore(table, "table"),
        page=any(file.path == PAGE for file in manifest.files),
    )


def _accept(
    data: DataSet, selected: Sequence[Sample], clean_of: Callable[[int], Images], found: Checked
) -> tuple[list[tuple[str, str]], list[str]]:
    """Hold the checked samples against the records, then a few clean images: both before anything is written."""
    bad, good = dict(found.bad), {sample.id: sha256 for sample, sha256, *_ in found.good}
    problems: list[str] = []
    for sample, record in zip(selected, data.samples, strict=True):
        if record.id not in good:
            problems.append(f"{record.id}: {bad.get(sample.path or sample.id, 'cannot be used')}")
        else:
            problems += differing(record, sample, good[record.id])
    refuse_unrecorded_source(data, problems, [(s.id, s.label, sha256) for s, sha256, *_ in found.good])
    picks = spread(range(len(selected)), PROBED)
    digests = {i: pixel_digest(clean_of(i)) for i in picks}
    others = [
        f"{record.id}: the clean pixels are {digests[record.index]}, recorded is {record.pixels}"
        for record in map(data.sample, picks)
        if digests[record.index] != record.pixels
    ]
    if others:
        raise VerificationError(
            f"The source is the one that {data.path} names, byte for byte, and its images are decoded or resized differently here "
            f"({len(others)} of the {len(picks)} looked at):\n{listed(others)}\n"
            f"{library_advice(data.manifest, 'pillow')} Nothing was written."
        )
    return [(e.path, e.reason) for e in data.manifest.excluded], []


def maker_of(data: DataSet, options: RemakeOptions, sets: Sequence[SetSpec], side: int | None = None) -> SetMaker:
    """Return what makes the images of some of a data set's sets; `side` is the calibration's, where the manifest does not say it."""
    manifest = data.manifest
    loaded = load_resources(
        sets, manifest.classes, frost_textures=options.frost_textures, surrogate=options.surrogate, device=options.device
    )
    if manifest.surrogates and "surrogate" in loaded:
        refuse_unrecorded_surrogate(data, loaded["surrogate"])
    plugins = plugins_of(dict.fromkeys(stage.corruption for spec in sets for stage in spec.stages))
    return SetMaker(side or side_of(manifest), manifest.seed, manifest.coupling, manifest.scale, loaded, plugins)


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


def opened_source(data: DataSet, options: RemakeOptions) -> Source:
    """Return the source that a data set is to be made again from, with the splits and the regions that it was made of.

    Raises
    ------
    SourceError
        None was named, and the data set is not of ``sample``.
    """
    manifest, source = data.manifest, options.source
    if source is None and manifest.source.name != "sample":
        raise SourceError(
            f"{data.path} was made from the source '{manifest.source.name}': name it with --source (and --labels), "
            "so that samples can be made again from it."
        )
    source = source or "sample"
    if isinstance(source, str):
        scheme = source.partition(":")[0]

        def recorded(field: str, schemes: Iterable[str]) -> str | None:
            value = manifest.selection.get(field) if scheme in schemes else None
            return None if value is None else str(value)

        source = open_source(
            source,
            labels=options.labels,
            split=recorded("split", SPLIT_SOURCES),
            images=options.images or recorded("images", ["tree"]),
            groups=options.groups or recorded("grouping", GROUPED_SOURCES),
        )
    table = recorded_table(manifest, "images")
    if table is None:
        return source
    originals = {sample.id: sample for sample in source.samples}
    try:
        rows = [(row.index, row.region) for row in data.samples if row.region is not None and row.region.source in originals]
    except VerificationError:  # samples.jsonl is damaged: a repair goes on without it
        return RegionSource(source, table, _drawn(manifest, source, table))
    return RegionSource(source, table, [Region.of(index, originals[r.source], (r.side, r.y, r.x), r) for index, r in rows])


def recorded_table(manifest: Manifest, store: str) -> RegionTable | None:
    """Return the regions of a manifest's recipe, if they are stored in this way: as ``images``, or as a ``table``."""
    record = manifest.recipe.get("regions")
    return parse_region_table(record) if isinstance(record, dict) and record.get("store") == store else None


def _drawn(manifest: Manifest, source: Source, table: RegionTable) -> list[Region]:
    """Return the regions of the images that the manifest's selection chooses; none where it was a list of ids."""
    checked = check(source, selected_again(manifest, source), judge=table.problem)
    images = tuple(CheckedSample(*entry) for entry in checked.good)
    return [c.sample for c in RegionSamples(images, table, manifest.seed) if isinstance(c.sample, Region)]


def selected_again(manifest: Manifest, source: Source) -> list[Sample]:
    """Return the samples that a manifest's selection chooses, without those that were left out.

    None where it read a file, or the source does not know the groups that were held out.
    """
    selection = manifest.selection
    if selection.get("ids") is not None or selection.get("per_super_category") is not None:
        return []
    excluded = {e.path for e in manifest.excluded}
    asked: dict[str, Any] = {key: selection.get(key) for key in ("samples", "first", "per_class")}
    if "hold_out" in selection:
        asked["hold_out"] = recorded_hold_out(selection["hold_out"])
        if asked["hold_out"] is None or all(s.group is None for s in source.samples):
            return []
    return [s for s in select(source.samples, **asked) if (s.path or s.id) not in excluded]
