"""What a build is, worked out before anything is written: recipe, source, selection, sets, containers, runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from ...corruptions.calibrations import Calibration
from ...corruptions.keys import check_seed
from ...corruptions.stages import COUPLINGS, LEAST_SIDE, SCALES, Coupling, Scale
from ...corruptions.weather.textures import TextureSet, default_textures, load_textures
from ...errors import BuildError, SourceError, listed
from ...manifests.records.models import SCHEMA_VERSION, ClassRecord
from ...processes import workers_at_most
from ..pixels.encoding import Encoding
from ..pixels.metrics import DEFAULT_IMAGES
from ..recipes.choice import CLEAN, choose_sets
from ..recipes.expectations import Named
from ..recipes.file_models import SetSpec
from ..recipes.recipe import Recipe, load_recipe
from ..sources.check import Checked, check
from ..sources.selection import select, selection_record
from ..sources.source import Sample, Source, open_source
from ..views.array_layout import ArrayLayout
from ..views.build_view import build_layout, view_identity
from ..views.layout import Layout
from .estimates import stored_bytes
from .job import CheckedSample
from .parts import Run, groups
from .source_fit import refuse_other_source
from .textures import refuse_small_textures, texture_notes
from .tree import Node, grow, merge_aliases, walk_order

Format = Literal["folder", "hdf5", "both"]
BOTH_BELOW = 2 * 10**9
"""Bytes in both containers together, below which both are written by default."""
SMALL_SIDE = 64
_PROBED = 8


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of `plan` and `build`."""

    seed: int = 0
    jobs: int | None = None
    sets: Sequence[str] | None = None
    samples: int | None = None
    first: int | None = None
    per_class: int | None = None
    ids: str | Path | Sequence[str] | None = None
    format: Format | None = None
    optimize: bool = False
    skip_bad: bool = False
    calibration: str | Path | Calibration | None = None
    coupling: Coupling = "independent"
    scale: Scale | None = None
    metrics: int | Literal["all"] | None = None
    frost_textures: str | Path | None = None
    labels: str | Path | None = None
    split: str | None = None
    images: str | None = None
    view: str | None = None
    disjoint_from: Sequence[str | Path] = ()
    any_shape: bool = False

    def check(self) -> None:
        """Raise for every option that is not what it can be."""
        check_seed(self.seed)
        problems = []
        if self.jobs is not None and (isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs < 1):
            problems.append(f"jobs is {self.jobs!r}; expected a whole number of processes, at least 1")
        for name, value, known in (
            ("format", self.format, (None, *get_args(Format))),
            ("coupling", self.coupling, COUPLINGS),
            ("scale", self.scale, (None, *SCALES)),
        ):
            if value not in known:
                problems.append(f"{name} is {value!r}; expected one of {', '.join(str(k) for k in known if k is not None)}")
        whole = isinstance(self.metrics, int) and not isinstance(self.metrics, bool) and self.metrics >= 0
        if self.metrics not in (None, "all") and not whole:
            problems.append(f"metrics is {self.metrics!r}; expected a number of images (0 for none) or 'all'")
        if self.view is not None and self.format is not None:
            problems.append(f"format is {self.format!r} and view {self.view!r}; a build's images stand in one or the other")
        if problems:
            raise BuildError(f"{len(problems)} option{'s' * (len(problems) > 1)} cannot be used:\n{listed(problems)}")

    @property
    def selection(self) -> dict[str, Any]:
        """What `select` takes."""
        return {"samples": self.samples, "first": self.first, "per_class": self.per_class, "ids": self.ids}

    @property
    def workers(self) -> int:
        """How many processes: what was asked for, else one a core that this process may use; one where no others can be started."""
        if self.jobs is not None:
            return workers_at_most(self.jobs)
        return workers_at_most(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@dataclass(frozen=True)
class BuildSpec:
    """A recipe, a source and options, brought together."""

    recipe: Recipe
    table: Calibration
    source: Source
    options: BuildOptions
    selected: tuple[Sample, ...]
    everything: tuple[SetSpec, ...]
    """All sets that can be built: clean and the recipe's."""
    asked: tuple[str, ...]
    """The ids of the sets that were asked for."""
    encoding: Encoding
    containers: tuple[str, ...]
    image_size: tuple[int, int]
    """(width, height) of a clean image: the mean of a few, where they differ."""

    @property
    def scale(self) -> Scale:
        """How lengths scale."""
        return self.options.scale or self.recipe.scale

    @property
    def side(self) -> int:
        """The short side, in pixels, that the parameters were made for."""
        return self.table.side

    @property
    def classes(self) -> tuple[ClassRecord, ...]:
        """The classes of the build."""
        return self.source.classes

    def accept(self, found: Checked) -> list[tuple[str, str]]:
        """Return what is left out, as (path, reason); raise where the images that were checked cannot be built from."""
        if not self.options.skip_bad or not found.good:
            found.raise_for_bad(self.source.notes)
        self.refuse_other(found, all_seen=True)
        return sorted([*self.source.notes, *found.bad])

    def refuse_other(self, found: Checked, *, all_seen: bool) -> None:
        """Raise for images that the recipe or the view is not made for, unless they are insisted on."""
        if not self.options.any_shape:
            refuse_other_source(self.recipe, self.options.view, named_shapes(found), all_seen=all_seen)

    @cached_property
    def by_id(self) -> Mapping[str, SetSpec]:
        """Every set by its id."""
        return {s.id: s for s in self.everything}

    def tree(self, sets: Sequence[str]) -> Node:
        """Return the tree of stages of sets, in the recipe's order."""
        return grow([s for s in self.everything if s.id in set(sets)], self.options.seed, self.options.coupling)

    def stored_bytes(self) -> int:
        """Return the estimated bytes of one stored image in the containers together."""
        return sum(stored_bytes(self.encoding, self.image_size, self._like(c)) for c in self.containers)

    def _like(self, container: str) -> str:
        """Return the container whose sizes a view's images have."""
        if container != "view":
            return container
        return "hdf5" if isinstance(self.layout(self.asked), ArrayLayout) else "folder"

    def layout(self, sets: Sequence[str], samples: Sequence[Sample] | None = None) -> Layout | None:
        """Return where the images of sets go, for ``build --view``.

        Raises
        ------
        BuildError
            They do not fit into the view.
        """
        if self.options.view is None:
            return None
        return build_layout(
            self.options.view,
            name=self.recipe.name,
            version=self.recipe.version,
            sets=[self.by_id[s] for s in sets],
            samples=self.selected if samples is None else samples,
            classes=self.classes,
            encoding=self.encoding,
        )

    def places(self, sets: Sequence[str], samples: Sequence[Sample] | None = None) -> Mapping[str, Sequence[str]]:
        """Return set id -> the folder or the arrays of its images; none where they are in shards alone."""
        layout = self.layout(sets, samples)
        if layout is not None:
            return layout.set_paths()
        return {s: [f"images/{s}"] if "folder" in self.containers else [] for s in sets}

    def groups(self, sets: Sequence[str], all_runs: Sequence[Run]) -> list[tuple[str, ...]]:
        """Return sets in groups; of images that only go into a folder, nothing but records is collected in memory."""
        in_memory = any(self._like(c) == "hdf5" for c in self.containers)
        size = stored_bytes(self.encoding, self.image_size, "hdf5") if in_memory else 1024
        order: list[str] = []
        branches: set[int] = set()
        for branch in self.tree(sets).branches():
            branches.add(len(order))
            order += list(walk_order(branch))
        return groups(order, run_count=len(all_runs), run_length=max(r.count for r in all_runs), stored_bytes=size, branches=branches)

    def metrics_images(self, count: int) -> int:
        """Return over how many of `count` samples metrics are."""
        wanted = DEFAULT_IMAGES if self.options.metrics is None else self.options.metrics
        return count if wanted == "all" else min(wanted, count)

    def textures(self, sets: Sequence[str], shapes: Sequence[tuple[int, int]]) -> list[dict[str, str]]:
        """Return name and sha256 of the textures that go into the pixels of sets; `shapes` are the images' (height, width)."""
        if not any(self.by_id[i].has_textures for i in sets):
            return []
        given = self.resources().get("textures")
        found = given.records() if given is not None else [r for h, w in sorted(set(shapes)) for r in default_textures(h, w).records()]
        return [{"name": name, "sha256": sha256} for name, sha256 in dict.fromkeys(found)]

    def notes(self, samples: Sequence[Sample] | None = None) -> tuple[str, ...]:
        """Return what a user should know of the view and the frost textures that were asked for."""
        layout = self.layout(self.asked, samples)
        return (*(layout.notes if layout is not None else ()), *texture_notes(self.own_textures, self._asked_sets))

    def refuse_small_textures(self, shapes: Iterable[tuple[int, int]]) -> None:
        """Raise `BuildError` where the user's frost textures do not cover images of these (height, width)."""
        refuse_small_textures(self.own_textures, self._asked_sets, shapes, scale=self.scale, side=self.side)

    @cached_property
    def own_textures(self) -> TextureSet | None:
        """The user's frost textures."""
        return None if self.options.frost_textures is None else load_textures(self.options.frost_textures)

    @property
    def _asked_sets(self) -> list[SetSpec]:
        return [self.by_id[i] for i in self.asked]

    def resources(self) -> dict[str, Any]:
        """Return what replaces the corruptions' own resources."""
        return {} if self.own_textures is None else {"textures": self.own_textures}

    def recipe_record(self) -> dict[str, Any]:
        """Return the recipe resolved in full, as it stands in the manifest."""
        record = self.recipe.as_json(self.options.calibration)
        own = merge_aliases(self.recipe.resolve(self.table), self.options.seed, self.options.coupling)
        sets = [{"id": s.id, "aliases": list(s.aliases), "role": s.role, "stages": [t.as_json() for t in s.stages]} for s in own]
        return record | {"calibration": self.table.name, "calibration_side": self.table.side, "sets": sets}

    def identity(self, chosen: Sequence[CheckedSample], source_digest: str, excluded: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return what the build is, but for its sets and textures (`committing.IDENTITY`)."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.recipe.name,
            "version": self.recipe.version,
            "seed": self.options.seed,
            "coupling": self.options.coupling,
            "scale": self.scale,
            "recipe": self.recipe_record() | self._unexpected(chosen),
            "source": {"name": self.source.scheme, "digest": source_digest, "license": self.source.license},
            "preprocessing": self.recipe.preprocessing.as_json(),
            "encoding": self.encoding.as_json(self.containers),
            "classes": [c.as_json() for c in self.classes],
            "excluded": [{"path": path, "reason": reason} for path, reason in excluded],
            "selection": selection_record(self.source.samples, self.selected, **self.options.selection),
            "views": self._views([c.sample for c in chosen]),
            "metrics": self.metrics_images(len(chosen)),
        }

    def _unexpected(self, chosen: Sequence[CheckedSample]) -> dict[str, Any]:
        """Return what the recipe did not expect of the source and was insisted on, as it stands with the recipe in the manifest."""
        images = [(c.sample.id, (c.width, c.height, c.channels)) for c in chosen]
        problems = self.recipe.expects.problems(images) if self.recipe.expects is not None else []
        return {"unexpected": problems} if problems else {}

    def _views(self, samples: Sequence[Sample]) -> list[dict[str, Any]]:
        layout = self.layout(self.asked, samples)
        return [] if layout is None or self.options.view is None else view_identity(layout, self.options.view)


def prepare(recipe: str | Path | Recipe, source: str | Source, options: BuildOptions) -> BuildSpec:
    """Bring a recipe, a source and options together; nothing is written and no image but a few is looked at.

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        What was asked for cannot be built.
    """
    options.check()
    loaded = load_recipe(recipe)
    table = loaded.table(options.calibration)
    everything = merge_aliases(loaded.resolve(table), options.seed, options.coupling)
    own = len(everything)
    asked = tuple(s.id for s in choose_sets(everything, options.sets))
    if all("clean" not in (s.id, *s.aliases) for s in everything):
        # Clean can be built from any recipe, but only where it is named.
        everything = [CLEAN, *everything]
    opened = source
    if isinstance(opened, str):
        opened = open_source(opened, labels=options.labels, split=options.split, images=options.images)
    selected = tuple(select(opened.samples, **options.selection))
    if not selected:
        raise SourceError(f"The source {opened.scheme} has no images to build from.")
    encoding = loaded.encoding
    if options.optimize:
        if encoding.lossless:
            raise BuildError(f"--optimize is for JPEG; the recipe {loaded.name} stores {encoding.format}. Leave it out.")
        encoding = encoding.model_copy(update={"optimize": True})
    looked = looked_at(opened, selected) if own_sizes(loaded) else Checked()
    sizes = clean_sizes(loaded, looked)
    size = round(sum(w for w, _ in sizes) / len(sizes)), round(sum(h for _, h in sizes) / len(sizes))
    asked_format = options.format
    if asked_format is None and encoding.lossless and len(set(sizes)) > 1:
        asked_format = "folder"  # images of several sizes do not fit into arrays
    containers = ("view",) if options.view is not None else _containers(asked_format, encoding, size, own * len(selected))
    prepared = BuildSpec(loaded, table, opened, options, selected, tuple(everything), asked, encoding, containers, size)
    prepared.layout(asked)  # refuses what does not fit before anything is looked at
    prepared.refuse_other(looked, all_seen=False)
    prepared.refuse_small_textures((h, w) for w, h in dict.fromkeys(sizes))
    return prepared


def looked_at(source: Source, selected: Sequence[Sample]) -> Checked:
    """Check up to eight of a source's images, spread evenly; where none of them is good, all."""
    found = check(source, select(selected, samples=_PROBED))
    return found if found.good else check(source, selected)


def named_shapes(found: Checked) -> list[Named]:
    """Return the shapes of images that were checked, as they are in the source."""
    return [(sample.path or sample.id, (width, height, channels)) for sample, _, width, height, channels in found.good]


def own_sizes(recipe: Recipe) -> bool:
    """Whether clean images have the size that they have in the source."""
    return recipe.preprocessing.size(640, 480) != recipe.preprocessing.size(300, 500)


def clean_sizes(recipe: Recipe, found: Checked) -> list[tuple[int, int]]:
    """Return the (width, height) of clean images: the one of the preprocessing, or those of images that were checked."""
    if not own_sizes(recipe):
        return [recipe.preprocessing.size(0, 0)]
    return [recipe.preprocessing.size(width, height) for _, _, width, height, _ in found.good] or [(500, 375)]


def size_problem(recipe: Recipe, width: int, height: int) -> str | None:
    """Return why an image of this size cannot be used, or None."""
    problem = recipe.preprocessing.problem(width, height)
    if problem is None and min(recipe.preprocessing.size(width, height)) < LEAST_SIDE:
        return f"is {width}x{height}; corruptions need at least {LEAST_SIDE}x{LEAST_SIDE}: leave it out, or use a recipe that resizes"
    return problem


def _containers(asked: Format | None, encoding: Encoding, size: tuple[int, int], images: int) -> tuple[str, ...]:
    if asked is None:
        both = images * sum(stored_bytes(encoding, size, c) for c in ("folder", "hdf5"))
        asked = "both" if both < BOTH_BELOW else "hdf5" if min(size) < SMALL_SIDE else "folder"
    return ("folder", "hdf5") if asked == "both" else (asked,)
