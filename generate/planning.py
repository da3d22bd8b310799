"""The public function `plan`, which describes a build and estimates its cost without writing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from ..corruptions.registry import get_corruption
from ..errors import first_few, require_build
from ..manifests.disk.remote import local_folder
from ..progress import ProgressEvent, progress_function, shows_progress
from ..quantities import folders_and_files, size
from .estimate import LOOKED_AT, estimate
from .plan.build_plan import BuildPlan
from .plan.builds import groups_of
from .plan.job import CheckedSample
from .plan.options import BuildKeywords, BuildOptions
from .plan.parts import BATCH_BYTES, PART_BYTES, chunks
from .plan.recipe_build import clean_sizes, prepare, probe
from .plan.region_storage import Store
from .plan.source_fit import moving_corruptions
from .plan.tree import max_buffers, stages_applied, stages_naive
from .recipes.recipe import Recipe
from .recipes.set_spec import SetSpec
from .sources.source import Source

FIRST_CLASSES = 5
"""The largest number of class names in a plan."""
BASE_MEMORY = 300 << 20
"""The memory, in bytes, of a process that has imported all modules and loaded all kernels."""
MODEL_MEMORY = 350 << 20
"""The additional memory, in bytes, that PyTorch needs in a process that computes gradients."""
DECODED_COPIES = 3
"""The number of copies of a source image in memory: decoded by Pillow, as an array, and during preprocessing."""


@dataclass(frozen=True)
class Plan:
    """The description and the estimated cost of a build."""

    recipe: str
    version: str
    source: str
    samples: int
    sets: tuple[SetSpec, ...]
    images: int
    bytes: int
    """The sum of the sizes of all files. It is estimated from `looked_at` images, or for regions, from constants."""
    seconds: float
    """The duration of the build with `jobs` workers, estimated from a few images. The estimate assumes that the machine
    stays as busy as it is now.
    """
    jobs: int
    memory_per_worker: int
    """The estimated upper limit on the memory of a worker, in bytes."""
    storage: str
    """``folder``, ``hdf5`` or ``both``."""
    encoding: dict[str, Any]
    size: tuple[int, int]
    """The width and height of a clean image. If sizes differ, this is the median size, by area, of the probed images.
    """
    other_sizes: int
    """The number of further sizes among the probed images. At most eight images are probed."""
    calibration: str
    seed: int
    stages_applied: int
    """The number of stages that are applied to each sample. If several sets begin with a stage, it is applied once."""
    stages_naive: int
    """The number of stages that would be applied to each sample if every set started from the clean image."""
    parts: int
    alone: Mapping[str, int] = field(default_factory=dict)
    """For a build with the storage ``both``, the sizes that it would have with ``folder`` alone and ``hdf5`` alone."""
    looked_at: int = 0
    """The number of source images that were used to estimate `bytes` and `seconds`."""
    deviation: float = 0.0
    """The likely relative error of `bytes`, as two standard errors."""
    moves_content: tuple[str, ...] = ()
    """The corruptions that move image content. Boxes and masks of the clean images do not fit the corrupted images."""
    notes: tuple[str, ...] = ()
    """Notes for the user."""
    store: str | None = None
    """How regions are stored, ``images`` or ``table``. None for a recipe without regions."""
    source_images: int = 0
    """The number of selected source images. For a recipe with regions, `samples` is the number of regions in these
    images, which is an estimate if image sizes differ or blocks overlap.
    """
    stores: Mapping[Store, int] = field(default_factory=dict)
    """For a recipe with regions, the estimated size in bytes for each way to store regions."""
    classes: int = 0
    """The number of classes of the source."""
    first_classes: tuple[str, ...] = ()
    """The names of the first few classes, in the order of their labels."""

    def __repr__(self) -> str:
        sets = f"{len(self.sets)} sets of {self.samples:,} samples, {self.images:,} images in {self.parts} parts"
        cost = f"about {size(self.bytes)} ({self.storage}) and {self.seconds:,.0f} s with jobs={self.jobs}"
        return f"<Plan {self.recipe} {self.version} of {self.source}: {sets}, {cost}, {len(self.notes)} notes>"

    def families(self) -> dict[str, list[SetSpec]]:
        """Return the sets grouped by the family of their corruption, in the order of the plan.

        Chains of corruptions are grouped by their length. The clean images form a family of their own.
        """
        families: dict[str, list[SetSpec]] = {}
        for spec in self.sets:
            family = (
                get_corruption(spec.stages[0].corruption).family
                if len(spec.stages) == 1
                else f"chains of {len(spec.stages)}"
            )
            families.setdefault(family if spec.stages else "clean", []).append(spec)
        return families

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        record = dict(vars(self))
        return record | {
            "sets": [s.as_json() for s in self.sets],
            "seconds": round(self.seconds, 1),
            "size": list(self.size),
        }


@shows_progress("plan")
def plan(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    *,
    out: str | Path | None = None,
    progress: Callable[[ProgressEvent], None] | bool | None = None,
    **options: Unpack[BuildKeywords],
) -> Plan:
    """Return the description and the estimated cost of a build, without writing anything.

    Parameters
    ----------
    recipe : str, path or Recipe
        The name of a shipped recipe, or a recipe file (.toml).
    source : str or Source
        The source of images, with the same syntax as in `build`.
    out : path, optional
        The output folder of the build, which must not be a URL. The plan does not depend on it.
    progress : callable or bool, optional
        Called with a `ProgressEvent`. By default, a progress bar is shown in terminals and notebooks. False disables
        it.
    **options
        The other keyword arguments of `build`, such as `sets`, `samples` and `jobs`.

    Returns
    -------
    Plan

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        The build is not possible. Only a few images are checked here, whereas a build first checks all images.

    Examples
    --------
    >>> planned = plan("imagenet-c", "sample", sets=["fog/*"], samples=4, jobs=1)
    >>> planned.images, planned.stages_applied, planned.storage
    (20, 5, 'folder')
    """
    require_build()
    if out is not None:
        local_folder(out, "builds are written to")
    tell = progress_function(progress)
    tell(ProgressEvent("checking"))
    return plan_of(prepare(recipe, source, BuildOptions(**options)), tell)


def plan_of(spec: BuildPlan, progress: Callable[[ProgressEvent], None] = lambda event: None) -> Plan:
    """Return the description and the estimated cost of a planned build."""
    sets, total, pixels = spec.sets.chosen, len(spec.selected), spec.pixels
    maker, store = pixels.maker, pixels.regions
    count = total if store is None else store.samples(total)
    images = count * len(sets)
    probed = probe(spec.source, spec.selected, None if store is None else spec.size_problem)
    bad, _ = spec.accept(probed, is_sample=True)
    sizes = sorted(clean_sizes(pixels.preprocessing, probed), key=lambda size: (size[0] * size[1], size))
    width, height = pixels.image_size
    clean = width * height * 3
    all_chunks = chunks(count, clean)
    few = spec.build_of(tuple(CheckedSample(*entry) for entry in probed.good))
    groups = groups_of(maker, sets, all_chunks, spec.held_bytes)
    cost = estimate(spec, few, few.samples[:LOOKED_AT], all_chunks, groups, progress)
    # Each group has its own tree of stages, so a stage is applied twice if sets in two groups share it.
    applied = sum(stages_applied(maker.tree(few.chosen(group))) for group in groups)
    rows = max(len(g) for g in groups) * all_chunks[0].count * spec.held_bytes
    batches = (max_buffers(maker.tree(sets)) + 6) * max(BATCH_BYTES, clean)
    decoding = DECODED_COPIES * 3 * max(w * h for _, _, w, h, _ in probed.good)
    notes, unfit = (
        (*spec.notes, *probed.orientation_notes(spec.source)),
        sorted({path for path, _ in (*bad, *cost.bad)}),
    )
    if unfit:
        notes += (
            f"Among the checked images, {folders_and_files(unfit, 'file')} of the source cannot be used: "
            f"{first_few(unfit)}. A build stops if there are such files. Use --skip-bad to leave them out.",
        )
    memory = BASE_MEMORY + spec.source.memory_bytes
    if few.surrogate is not None and any(s.needs_surrogate for s in sets):
        memory += MODEL_MEMORY + few.surrogate.memory
    stores: dict[Store, int] = {}
    if store is not None:
        bytes_per_image = store.region_bytes if store.store == "table" else spec.stored_bytes
        as_images = store.regions_per_image * len(spec.requested) * bytes_per_image
        stores = {"images": round(as_images * total), "table": round(store.table_bytes * total)}
    return Plan(
        recipe=spec.sets.recipe.name,
        version=spec.sets.recipe.version,
        source=spec.source.scheme,
        samples=count,
        sets=sets,
        images=images,
        bytes=cost.bytes if store is None else stores[store.store],
        seconds=cost.seconds,
        jobs=spec.workers,
        memory_per_worker=memory + all_chunks[0].count * clean + min(rows, 2 * PART_BYTES) + batches + decoding,
        storage=spec.storage.container,
        encoding=spec.storage.encoding.model_dump(),
        size=sizes[len(sizes) // 2],
        other_sizes=len(set(sizes)) - 1,
        calibration=spec.sets.resolved.table.name,
        seed=maker.seed,
        stages_applied=applied,
        stages_naive=stages_naive(sets),
        parts=len(all_chunks) * len(groups),
        alone=cost.alone,
        looked_at=cost.looked_at,
        deviation=cost.deviation,
        moves_content=tuple(moving_corruptions(sets)),
        notes=notes,
        source_images=len(spec.selected),
        store=None if store is None else store.store,
        stores=stores,
        classes=len(spec.source.classes),
        first_classes=tuple(c.name for c in spec.source.classes[:FIRST_CLASSES]),
    )
