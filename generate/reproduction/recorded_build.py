"""Reconstruct a build from the records of a dataset, in order to regenerate its images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...corruptions.plugins import plugins_of
from ...corruptions.stages import Stage
from ...errors import SourceError, VerificationError, format_list
from ...manifests.paths import PAGE
from ...manifests.reader import Dataset
from ...manifests.records.models import Header, Manifest
from ..pixels.encoding import parse_encoding
from ..pixels.preprocessing import parse_preprocessing
from ..plan.build_plan import mean_size
from ..plan.builds import CheckedBuild, size_check
from ..plan.job import CheckedSample
from ..plan.region_storage import RegionSamples, RegionStore
from ..plan.resources import load_resources
from ..plan.sample_checks import refuse_unusable
from ..plan.tree import SetMaker
from ..recipes.choice import choose_sets
from ..recipes.region_table import RegionTable, parse_region_table
from ..recipes.set_spec import SetSpec
from ..regions.region_source import Region, RegionSource
from ..sources.check import Checked, SizeCheck, check
from ..sources.selection import recorded_hold_out, select, spread
from ..sources.source import GROUPED_SOURCES, BadSample, Sample, Source, named_source, open_source, split_sources
from .agreement import (
    class_differences,
    clean_difference,
    match_records,
    refuse_unrecorded_code,
    refuse_unrecorded_resources,
)
from .inputs import RemakeOptions

PROBED = 8
"""The number of clean images that are compared before anything is written. If the Pillow version matters, even the
first image differs.
"""


def recorded_build(
    data: Dataset,
    options: RemakeOptions,
    *,
    sets: Sequence[str] | None = None,
    source: Source | None = None,
    side: int | None = None,
    check_class_names: bool = True,
) -> CheckedBuild:
    """Return the build that the records of a dataset describe.

    The source, the corruptions and the resources must agree with the records.

    Parameters
    ----------
    data : Dataset
    options : RemakeOptions
        The source and its options.
    sets : sequence of str, optional
        Patterns of the ids of the sets to regenerate. By default, all sets are regenerated.
    source : Source, optional
        The source, if `open_recorded_source` has already opened it.
    side : int, optional
        The reference side of the calibration. The default is the side in the manifest.
    check_class_names : bool
        Whether to reject a source whose classes have different names or folders.

    Raises
    ------
    SourceError
        The source lacks samples, or its labels or classes differ. The hashes of files are not compared.
    VerificationError
        Corruptions, parameters, textures or the surrogate model differ from the recorded ones.
    UnknownCorruption
        A pattern in `sets` does not match any set in the manifest.
    """
    manifest = data.manifest
    refuse_unrecorded_code(data)
    source = source or open_recorded_source(data, options)
    matched = match_records(data, source)
    if check_class_names and (problems := class_differences(manifest, source)):
        raise SourceError(
            f"The classes of the source differ from those of {data.name}:\n{format_list(problems)}\n"
            "Pass the source (--source) and the labels (--labels) of the build."
        )
    side = side or manifest.recipe.get("calibration_side")
    if not isinstance(side, int) or side <= 0:
        raise VerificationError(
            "The recipe in the manifest lacks the image size that the calibration was made for. Pass the calibration "
            "file to `corruptset verify` with --calibration (in Python, pass its side as calibration_side)."
        )
    preprocessing, specs = parse_preprocessing(manifest.preprocessing), specs_of(manifest)
    requested = [] if sets == [] else choose_sets(specs, sets)  # empty if only clean images are compared
    resources = load_resources(
        requested,
        manifest.classes,
        frost_textures=options.frost_textures,
        surrogate=options.surrogate,
        device=options.device,
    )
    plugins = plugins_of(dict.fromkeys(stage.corruption for spec in requested for stage in spec.stages))
    # Recorded groups are used if the source has none, because the user may not have the CSV of groups.
    selected = tuple(
        s if s.group is not None else replace(s, group=r.group) for s, r in zip(matched, data.samples, strict=True)
    )
    samples = [CheckedSample(s, r.sha256, r.width, r.height) for s, r in zip(selected, data.samples, strict=True)]
    build = CheckedBuild(
        # The recorded header is used, because class folders may differ if the source is given in a different form.
        header=manifest.header,
        source=source,
        samples=samples,
        sets=tuple(specs),
        requested=tuple(s.id for s in requested),
        preprocessing=preprocessing,
        encoding=parse_encoding(manifest.encoding),
        maker=SetMaker(side, manifest.seed, manifest.coupling, manifest.scale, resources, plugins),
        plugins=manifest.plugins,
        image_size=mean_size([preprocessing.size(r.width, r.height) for r in data.samples]),
        workers=options.workers,
        stored_table=_regions(manifest, "table"),
        page=any(file.path == PAGE for file in manifest.files),
    )
    refuse_unrecorded_resources(data, build)
    return build


@dataclass(frozen=True)
class RecordedPlan:
    """The build that a manifest records, as an `UncheckedBuild`: the images of the source have not been checked yet."""

    data: Dataset
    build: CheckedBuild
    """The build with the recorded samples."""

    @property
    def folder(self) -> str:
        """The name of the dataset's folder, ``<name>-<version>``."""
        return self.build.header.folder

    @property
    def source(self) -> Source:
        """The source of the images."""
        return self.build.source

    @cached_property
    def selected(self) -> tuple[Sample, ...]:
        """The samples to check."""
        return tuple(c.sample for c in self.build.samples)

    @property
    def requested(self) -> tuple[str, ...]:
        """The ids of the requested sets."""
        return self.build.requested

    @property
    def workers(self) -> int:
        """The number of worker processes."""
        return self.build.workers

    @property
    def size_problem(self) -> SizeCheck:
        """A function that returns the reason why an image size must be rejected."""
        table = self.build.stored_table
        return size_check(self.build.preprocessing, None if table is None else RegionStore(table, "table"))

    @property
    def stored_bytes(self) -> int:
        """The estimated size of one image in bytes, summed over all containers."""
        return self.build.stored_bytes

    @property
    def header(self) -> Header:
        """The header of the build."""
        return self.build.header

    def checked(self, result: Checked) -> CheckedBuild:
        """Compare the sample hashes in `result` and a few clean images with the records, and return the build."""
        data = self.data
        bad, good = dict(result.bad), {sample.id: sha256 for sample, sha256, *_ in result.good}

        def sha256_of(sample: Sample) -> str:
            if sample.id not in good:
                raise BadSample(bad.get(sample.path or sample.id, "cannot be used"))
            return good[sample.id]

        match_records(data, self.source, sha256_of)
        for index in spread(range(len(self.selected)), PROBED):
            if difference := clean_difference(data, index, self.build.clean(index)):
                raise VerificationError(f"{data.name}: {difference} Nothing was written.")
        build = self.build.with_samples(tuple(CheckedSample(*entry) for entry in result.good))
        refuse_unusable(build)
        return build


def specs_of(manifest: Manifest) -> list[SetSpec]:
    """Return the sets of a manifest in the order of the recipe. Sets that the recipe does not list come last.

    If the recipe does not list the clean images, they come first.
    """
    entries = manifest.recipe.get("sets")
    ids = [e.get("id") for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    order = {str(set_id): number for number, set_id in enumerate(ids)}
    specs = [
        SetSpec(
            s.id,
            tuple(Stage(t.corruption, t.revision, t.severity, t.level, t.parameters) for t in s.stages),
            s.role,
            tuple(s.aliases),
        )
        for s in manifest.sets
    ]
    return sorted(specs, key=lambda s: order.get(s.id, -1 if not s.stages else len(order)))


def open_recorded_source(data: Dataset, options: RemakeOptions) -> Source:
    """Open the source of a dataset with the recorded split and regions, and return it.

    Raises
    ------
    SourceError
        No source was given and the dataset was not built from ``sample``, or the source cannot be listed.
    """
    manifest = data.manifest
    source = list_recorded_source(manifest, options)
    if (table := _regions(manifest, "images")) is None:
        return source
    originals = {sample.id: sample for sample in source.samples}
    try:
        rows = [(r.index, r.region) for r in data.samples if r.region is not None and r.region.source in originals]
    except VerificationError:  # samples.jsonl is damaged, so regions are drawn again from the selected images
        checked = check(source, recorded_selection(manifest, source), check_size=table.problem)
        originals_checked = tuple(CheckedSample(*entry) for entry in checked.good)
        drawn = RegionSamples(originals_checked, table, manifest.seed)
        return RegionSource(source, table, [c.sample for c in drawn if isinstance(c.sample, Region)])
    return RegionSource(
        source, table, [Region.of(index, originals[r.source], (r.side, r.y, r.x), r) for index, r in rows]
    )


def list_recorded_source(manifest: Manifest, options: RemakeOptions) -> Source:
    """Return the source of a manifest, with the recorded split and file pattern. No images are read.

    Raises
    ------
    SourceError
        No source was given and the dataset was not built from ``sample``, or the source cannot be listed.
    """
    source = named_source(options.source or "sample")
    if options.source is None and manifest.source.name != "sample":
        raise SourceError(
            f"{manifest.name} was built from the source '{manifest.source.name}', which is needed to regenerate "
            "samples. Pass it with --source (and --labels)."
        )
    if isinstance(source, str):
        recorded = manifest.selection
        split, images, grouping = (
            str(recorded[field]) if source.partition(":")[0] in schemes and recorded.get(field) is not None else None
            for field, schemes in (("split", split_sources()), ("images", ["tree"]), ("grouping", GROUPED_SOURCES))
        )
        source = open_source(
            source,
            labels=options.labels,
            split=split,
            images=options.images or images,
            groups=options.groups or grouping,
        )
    return source


def _regions(manifest: Manifest, store: str) -> RegionTable | None:
    """Return the recorded region table if the build stored its regions in the form `store`, and None otherwise.

    The form is ``images`` or ``table``.
    """
    record = manifest.recipe.get("regions")
    return parse_region_table(record) if isinstance(record, dict) and record.get("store") == store else None


def recorded_selection(manifest: Manifest, source: Source) -> list[Sample]:
    """Return the samples that the recorded selection chooses, without excluded ones.

    The result is empty if the selection came from a file, or if the held-out groups are not known.
    """
    selection = manifest.selection
    if selection.get("ids") is not None or selection.get("per_super_category") is not None:
        return []
    criteria: dict[str, Any] = {key: selection.get(key) for key in ("samples", "first", "per_class")}
    if "hold_out" in selection:
        criteria["hold_out"] = recorded_hold_out(selection["hold_out"])
        if criteria["hold_out"] is None or all(s.group is None for s in source.samples):
            return []
    excluded = {e.path for e in manifest.excluded}
    return [s for s in select(source.samples, **criteria) if (s.path or s.id) not in excluded]
