"""`plan`: what a build would make, without writing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...corruptions.calibrations import Calibration
from ...corruptions.stages import Coupling, Scale
from ..recipes.recipe import Recipe
from ..recipes.set_spec import SetSpec
from ..sources.source import Source
from .build_spec import BuildOptions, BuildSpec, Format, clean_sizes, looked_at, prepare
from .estimates import BASE_MEMORY, DECODED_COPIES, build_seconds
from .parts import BATCH_BYTES, ROWS_BYTES, parts, runs
from .tree import buffers, stages_applied, stages_naive


@dataclass(frozen=True)
class Plan:
    """What a build would make."""

    recipe: str
    version: str
    source: str
    samples: int
    sets: tuple[SetSpec, ...]
    images: int
    bytes: int
    """Estimate, from constants measured on photographs; half or twice that is possible."""
    seconds: float
    """Estimate for `jobs`, from one JPEG encode timed now; the check of the source is not in it."""
    jobs: int
    memory_per_worker: int
    """Bytes: what a worker stays below (estimate)."""
    format: str
    """``folder``, ``hdf5``, ``both`` or ``view``."""
    encoding: dict[str, Any]
    size: tuple[int, int]
    """Width and height of an image that is there; where they differ, of the middle one by area among those looked at."""
    other_sizes: int
    """How many other sizes the images looked at have, at most eight of them."""
    calibration: str
    seed: int
    stages_applied: int
    """Stages applied to each sample: the tree shares what sets have in common."""
    stages_naive: int
    """Stages applied to each sample if every set started from the clean image."""
    parts: int
    notes: tuple[str, ...] = ()
    """What a user should know of the view and the textures that were asked for."""

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        record = dict(vars(self))
        return record | {"sets": [s.as_json() for s in self.sets], "seconds": round(self.seconds, 1), "size": list(self.size)}


def plan(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    *,
    seed: int = 0,
    jobs: int | None = None,
    sets: Sequence[str] | None = None,
    samples: int | None = None,
    first: int | None = None,
    per_class: int | None = None,
    ids: str | Path | Sequence[str] | None = None,
    format: Format | None = None,
    optimize: bool = False,
    skip_bad: bool = False,
    calibration: str | Path | Calibration | None = None,
    coupling: Coupling = "independent",
    scale: Scale | None = None,
    metrics: int | Literal["all"] | None = None,
    frost_textures: str | Path | None = None,
    labels: str | Path | None = None,
    split: Literal["test", "train", "all"] | None = None,
    images: str | None = None,
    view: str | None = None,
    any_shape: bool = False,
) -> Plan:
    """Say what a build would make; the parameters are those of `build`.

    Returns
    -------
    Plan

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        What was asked for cannot be built. Only a few images are looked at: to check all is the build's first step.

    Examples
    --------
    >>> planned = plan("imagenet-c", "sample", sets=["fog/*"], samples=4, jobs=1)
    >>> planned.images, planned.stages_applied, planned.format
    (20, 5, 'both')
    """
    options = BuildOptions(
        seed=seed, jobs=jobs, sets=sets, samples=samples, first=first, per_class=per_class, ids=ids, format=format,
        optimize=optimize, skip_bad=skip_bad, calibration=calibration, coupling=coupling, scale=scale, metrics=metrics,
        frost_textures=frost_textures, labels=labels, split=split, images=images, view=view, any_shape=any_shape,
    )  # fmt: skip
    return plan_of(prepare(recipe, source, options))


def plan_of(prepared: BuildSpec) -> Plan:
    """Return the plan of what was prepared."""
    sets = tuple(s for s in prepared.everything if s.id in set(prepared.asked))
    count, images = len(prepared.selected), len(prepared.selected) * len(sets)
    looked = looked_at(prepared.source, prepared.selected)
    if not looked.good:
        looked.raise_for_bad(prepared.source.notes)
    prepared.refuse_other(looked, all_seen=True)
    sizes = sorted(clean_sizes(prepared.recipe, looked), key=lambda size: (size[0] * size[1], size))
    width, height = prepared.image_size
    clean = width * height * 3
    tree = prepared.tree(prepared.asked)
    all_runs = runs(count, clean)
    groups = prepared.groups(prepared.asked, all_runs)
    # A group is walked by itself: what sets of two groups have in common is made twice.
    applied = sum(stages_applied(prepared.tree(group)) for group in groups)
    rows = max(len(g) for g in groups) * all_runs[0].count * (prepared.stored_bytes() if "hdf5" in prepared.containers else 1024)
    held = (buffers(tree) + 6) * max(BATCH_BYTES, clean)
    decoding = DECODED_COPIES * 3 * max(w * h for _, _, w, h, _ in looked.good)
    return Plan(
        recipe=prepared.recipe.name,
        version=prepared.recipe.version,
        source=prepared.source.scheme,
        samples=count,
        sets=sets,
        images=images,
        bytes=images * prepared.stored_bytes(),
        seconds=build_seconds(
            size=prepared.image_size,
            samples=count,
            stages=applied,
            images=images,
            jobs=min(prepared.options.workers, len(groups) * len(all_runs)),
        ),
        jobs=prepared.options.workers,
        memory_per_worker=BASE_MEMORY + all_runs[0].count * clean + min(rows, 2 * ROWS_BYTES) + held + decoding,
        format="both" if len(prepared.containers) == 2 else prepared.containers[0],
        encoding=prepared.encoding.as_json(prepared.containers),
        size=sizes[len(sizes) // 2],
        other_sizes=len(set(sizes)) - 1,
        calibration=prepared.table.name,
        seed=prepared.options.seed,
        stages_applied=applied,
        stages_naive=stages_naive(sets),
        parts=len(parts(all_runs, groups)),
        notes=prepared.notes(),
    )
