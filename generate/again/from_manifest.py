"""The build of a manifest, so that its images can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...corruptions.calibrations import SHIPPED, shipped
from ...corruptions.plugins import plugins_of
from ...corruptions.stages import Stage
from ...errors import SourceError, VerificationError, listed
from ...manifests.layout import PAGE
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest, SampleRecord
from ...pixels import pixel_digest
from ..commit.identity import identity_of
from ..pixels.encoding import parse_encoding
from ..pixels.preprocessing import parse_preprocessing
from ..plan.builds import Build
from ..plan.job import CheckedSample, load_clean
from ..plan.recipe_build import mean_size
from ..plan.region_samples import RegionSamples
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


@dataclass(frozen=True, kw_only=True)
class RecordedBuild(Build):
    """A build as its manifest and its samples have it: the same sets, the same selection, whatever recipes are shipped today."""

    manifest: Manifest
    records: tuple[SampleRecord, ...]
    where: Path
    """What errors call the manifest."""

    @property
    def stored_table(self) -> RegionTable | None:
        """The regions that regions.jsonl lists."""
        return recorded_table(self.manifest, "table")

    @property
    def plugin_records(self) -> list[dict[str, Any]]:
        """The manifest's own, which those that are here are equal to."""
        return [record.as_json() for record in self.manifest.plugins]

    @property
    def identity(self) -> dict[str, Any]:
        """The manifest's own."""
        return identity_of(self.manifest)

    def accept(self, found: Checked) -> list[tuple[str, str]]:
        """Hold the checked samples against the records, then a few clean images: both before anything is written."""
        bad = dict(found.bad)
        good = {sample.id: sha256 for sample, sha256, *_ in found.good}
        problems: list[str] = []
        for sample, record in zip(self.selected, self.records, strict=True):
            if record.id not in good:
                problems.append(f"{record.id}: {bad.get(sample.path or sample.id, 'cannot be used')}")
            else:
                problems += differing(record, sample, good[record.id])
        refuse_unrecorded_source(problems, [(s.id, s.label, sha256) for s, sha256, *_ in found.good], self.manifest, self.where)
        self._refuse_other_pixels([CheckedSample(*entry) for entry in found.good])
        return [(e.path, e.reason) for e in self.manifest.excluded]

    def _refuse_other_pixels(self, samples: Sequence[CheckedSample]) -> None:
        problems = []
        for i in spread(range(len(samples)), PROBED):
            digest = pixel_digest(load_clean(self.source, samples[i], self.preprocessing))
            if digest != self.records[i].pixels:
                problems.append(f"{samples[i].sample.id}: the clean pixels are {digest}, recorded is {self.records[i].pixels}")
        if problems:
            raise VerificationError(
                f"The source is the one that {self.where} names, byte for byte, and its images are decoded or resized differently here "
                f"({len(problems)} of the {min(PROBED, len(samples))} looked at):\n{listed(problems)}\n"
                f"{library_advice(self.manifest, 'pillow')} Nothing was written."
            )


def recorded_build(
    manifest: Manifest,
    records: Sequence[SampleRecord],
    where: Path,
    source: Source,
    options: RemakeOptions,
    *,
    sets: Sequence[str] | None = None,
) -> RecordedBuild:
    """Return the build of a manifest, so that it can be made from `source`, the one that the options name (`opened_source`).

    Raises
    ------
    SourceError
        The source lacks samples, or has other classes.
    VerificationError
        Corruptions, textures, the surrogate or parameters are others than here.
    UnknownCorruption
        A pattern of `sets` matches none of the manifest's sets.
    """
    refuse_unrecorded_code(manifest, where)
    refuse_unrecorded_textures(manifest, records, options.frost_textures, where)
    by_id = {s.id: s for s in source.samples}
    absent = [f"{r.id}: is not in the source" for r in records if r.id not in by_id]
    if absent:
        refuse_unrecorded_source(absent, [], manifest, where)
    if problems := differing_classes(manifest, source):
        raise SourceError(
            f"The source has other classes than {where} names:\n{listed(problems)}\n"
            "Name the source (--source) and the labels (--labels) that it was made from."
        )
    preprocessing = parse_preprocessing(manifest.preprocessing)
    recorded_sets = specs_of(manifest)
    asked = tuple(s.id for s in choose_sets(recorded_sets, sets))
    return RecordedBuild(
        name=manifest.name,
        version=manifest.version,
        source=source,
        classes=tuple(manifest.classes),  # a source in another form may have other folders
        # groups may come from a CSV that the user does not have
        selected=tuple(s if s.group is not None else replace(s, group=r.group) for r in records for s in (by_id[r.id],)),
        sets=tuple(recorded_sets),
        asked=asked,
        preprocessing=preprocessing,
        encoding=parse_encoding(manifest.encoding),
        format=format_of(manifest.encoding["containers"]),
        view=str(manifest.views[0].get("view")) if manifest.encoding["containers"] == ["view"] else None,
        maker=maker_of(manifest, where, options, [s for s in recorded_sets if s.id in asked]),
        metrics=identity_of(manifest)["metrics"],
        image_size=mean_size([preprocessing.size(r.width, r.height) for r in records]),
        workers=options.workers,
        page=any(file.path == PAGE for file in manifest.files),
        manifest=manifest,
        records=tuple(records),
        where=where,
    )


def maker_of(manifest: Manifest, where: Path, options: RemakeOptions, sets: Sequence[SetSpec], side: int | None = None) -> SetMaker:
    """Return what makes the images of some of a manifest's sets; `side` is the calibration's, where the manifest does not say it."""
    loaded = load_resources(
        sets, manifest.classes, frost_textures=options.frost_textures, surrogate=options.surrogate, device=options.device
    )
    if manifest.surrogates and "surrogate" in loaded:
        refuse_unrecorded_surrogate(manifest, loaded["surrogate"], where)
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
    """Return the source that a data set is to be made again from, with the splits that it was made of.

    Raises
    ------
    SourceError
        None was named, and the data set is not of ``sample``.
    """
    source, groups = options.source, options.groups
    if source is None:
        if data.manifest.source.name != "sample":
            raise SourceError(
                f"{data.path} was made from the source '{data.manifest.source.name}': name it with --source (and --labels), "
                "so that samples can be made again from it."
            )
        source = "sample"
    if not isinstance(source, str):
        return region_source(data, source)
    selection, scheme = data.manifest.selection, source.partition(":")[0]
    split = selection.get("split") if scheme in SPLIT_SOURCES else None
    if groups is None and scheme in GROUPED_SOURCES and selection.get("grouping") is not None:
        groups = str(selection["grouping"])
    split = None if split is None else str(split)
    images = options.images
    if images is None and scheme == "tree" and selection.get("images") is not None:
        images = str(selection["images"])
    return region_source(data, open_source(source, labels=options.labels, split=split, images=images, groups=groups))


def recorded_table(manifest: Manifest, store: str) -> RegionTable | None:
    """Return the regions of a manifest's recipe, if they are stored in this way: as ``images``, or as a ``table``."""
    record = manifest.recipe.get("regions")
    if not isinstance(record, dict) or record.get("store") != store:
        return None
    return parse_region_table(record)


def region_source(data: DataSet, source: Source) -> Source:
    """Return a source with the data set's samples: the source itself, or one of the regions of its images."""
    table = recorded_table(data.manifest, "images")
    if table is None:
        return source
    try:
        return RegionSource(source, table, _recorded(source, data.samples))
    except VerificationError:  # samples.jsonl is damaged: a repair goes on without it
        return RegionSource(source, table, _drawn(data.manifest, source, table))


def _recorded(source: Source, records: Sequence[SampleRecord]) -> list[Region]:
    originals = {sample.id: sample for sample in source.samples}
    return [
        Region.of(record.index, originals[r.source], (r.side, r.y, r.x), r)
        for record in records
        if (r := record.region) is not None and r.source in originals
    ]


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
