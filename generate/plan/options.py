"""The options of a build, each described once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from ...corruptions.calibrations import Calibration
from ...corruptions.keys import check_seed
from ...corruptions.stages import COUPLINGS, SCALES, Coupling, Scale
from ...errors import BuildError, listed
from ...processes import workers_at_most
from ..sinks.containers import Format
from ..sources.groups import hold_out_problem

Split = Literal["test", "train", "all"]


class BuildKeywords(TypedDict, total=False):
    """The fields of `BuildOptions`, as keyword arguments of `build` and `plan`."""

    seed: int
    jobs: int | None
    sets: Sequence[str] | None
    samples: int | None
    first: int | None
    per_class: int | None
    ids: str | Path | Sequence[str] | None
    per_super_category: str | Path | None
    format: Format | None
    optimize: bool
    skip_bad: bool
    calibration: str | Path | Calibration | None
    coupling: Coupling
    scale: Scale | None
    metrics: int | Literal["all"] | None
    frost_textures: str | Path | None
    surrogate: str | Path | None
    device: str | None
    surrogate_batch: int | None
    labels: str | Path | None
    split: Split | None
    groups: str | Path | None
    hold_out: str | Sequence[str] | None
    train: bool
    images: str | None
    view: str | None
    any_shape: bool
    store: Literal["images", "table"] | None
    page: bool
    plugins: Sequence[str | Path] | None
    disjoint_from: Sequence[str | Path]
    scheduler: Any


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of `build` and `plan`, beside a recipe and a source.

    Parameters
    ----------
    seed : int
        0..2**53 - 1.
    jobs : int, optional
        Processes; by default one a core. 1 works in this process. No byte depends on it.
    sets : sequence of str, optional
        Globs over set ids and aliases; by default all of the recipe's. ``clean`` must be named.
    samples, first : int, optional
        So many samples spread evenly over the source's order; the first so many.
    per_class : int, optional
        The first so many of every class.
    ids : path or sequence of str, optional
        Just these samples: a text file with an id a line, or the ids.
    per_super_category : path or str, optional
        The first so many of every super-category, as a file of them says; ``fragile-imagenet`` is one that comes with
        corruptset.
    format : {"folder", "hdf5", "both"}, optional
        By default both while the whole recipe is under 2 GB, else a folder for photographs and HDF5 below 64 pixels; a
        folder where images of several sizes are stored without loss.
    optimize : bool
        Optimised Huffman tables: smaller JPEG files with the same pixels, slower.
    skip_bad : bool
        Leave bad images out and record them, instead of stopping before anything is written.
    calibration : str, path or Calibration, optional
        In place of the recipe's.
    coupling : {"independent", "severity"}
        Whether severities draw anew or share their draws.
    scale : {"none", "side"}, optional
        In place of the recipe's.
    metrics : int or "all", optional
        Over how many images PSNR, SSIM and the fraction changed are: the first so many by id; 64 by default, 0 for
        none.
    frost_textures : path, optional
        A directory of the user's own frost textures.
    surrogate : path, optional
        The file of the model whose gradients pgd and model_gradient follow (docs/models.md); in place of the recipe's.
    device : str, optional
        Where the model computes: ``cpu`` by default, ``cuda``, ``cuda:1``.
    surrogate_batch : int, optional
        Images that the model takes at once, 1 by default. Only one at a time gives the same bytes in any order.
    labels : path, optional
        CSV with the columns file,label for a flat folder; the devkit or a file of labels for ``imagenet``; ``fine`` or
        ``coarse`` for ``cifar100``; the name of a dataset for ``hdf5``.
    split : {"test", "train", "all"}, optional
        Of ``cifar10``, ``cifar100`` and ``mnist``; test by default.
    groups : path, optional
        CSV with the columns file,group for ``folder`` and ``imagenet``; ``style`` or ``subtype`` for ``icons50``.
    hold_out : str or sequence of str, optional
        ``group=NAME``, once for each group that is held out of training: the samples of these groups are taken. NAME
        may be a shell pattern. In place of the recipe's ``[hold_out]``.
    train : bool
        Take the samples of all other groups instead, which are those to train with; the sets have the role ``train``.
    images : str, optional
        The name of the dataset of images, for ``hdf5``; for ``tree`` a shell pattern over the paths of files,
        ``val2017/*.jpg``: these are the images, and all other files are copied as they are.
    view : str, optional
        Write the images in this layout in place of a container: cifar-c, imagenet-c, tiny-imagenet-c, mnist-c,
        imagefolder, openood flageval or source-tree.
    any_shape : bool
        Take images of any size and channels, also where the recipe or the view is made for others.
    store : {"images", "table"}, optional
        Of a recipe with regions: each as an image, or the whole images once and a table of regions; by default what
        `plan` says.
    page : bool
        Write index.html, which shows what was built.
    plugins : sequence of str or path, optional
        Modules with corruptions of your own, or their files (docs/plugins.md), beside those that the recipe names.
    disjoint_from : sequence of path
        Directories of finished builds with which this one must have no sample in common: a training set and its test
        set.
    scheduler : str or distributed.Client, optional
        A Dask scheduler, by its address (``tcp://host:8786``) or by a client of it: its workers make the parts, in
        place of this machine's.
    """

    seed: int = 0
    jobs: int | None = None
    sets: Sequence[str] | None = None
    samples: int | None = None
    first: int | None = None
    per_class: int | None = None
    ids: str | Path | Sequence[str] | None = None
    per_super_category: str | Path | None = None
    format: Format | None = None
    optimize: bool = False
    skip_bad: bool = False
    calibration: str | Path | Calibration | None = None
    coupling: Coupling = "independent"
    scale: Scale | None = None
    metrics: int | Literal["all"] | None = None
    frost_textures: str | Path | None = None
    surrogate: str | Path | None = None
    device: str | None = None
    surrogate_batch: int | None = None
    labels: str | Path | None = None
    split: Split | None = None
    groups: str | Path | None = None
    hold_out: str | Sequence[str] | None = None
    train: bool = False
    images: str | None = None
    view: str | None = None
    any_shape: bool = False
    store: Literal["images", "table"] | None = None
    page: bool = True
    plugins: Sequence[str | Path] | None = None
    disjoint_from: Sequence[str | Path] = ()
    scheduler: Any = None

    def check(self) -> None:
        """Raise for every option that is not what it can be."""
        check_seed(self.seed)
        problems = []
        for name, number, least in (
            ("jobs", self.jobs, 1),
            ("metrics", None if self.metrics == "all" else self.metrics, 0),
            ("surrogate_batch", self.surrogate_batch, 1),
        ):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < least):
                problems.append(f"{name} is {number!r}; expected a whole number, at least {least}")
        for name, value, known in (
            ("format", self.format, (None, *get_args(Format))),
            ("coupling", self.coupling, COUPLINGS),
            ("scale", self.scale, (None, *SCALES)),
            ("store", self.store, (None, "images", "table")),
        ):
            if value not in known:
                problems.append(
                    f"{name} is {value!r}; expected one of {', '.join(str(k) for k in known if k is not None)}"
                )
        if self.hold_out is not None and (problem := hold_out_problem(self.hold_out)) is not None:
            problems.append(problem)
        if self.view is not None and self.format is not None:
            problems.append(
                f"format is {self.format!r} and view {self.view!r}; a build's images stand in one or the other"
            )
        if problems:
            raise BuildError(f"{len(problems)} option{'s' * (len(problems) > 1)} cannot be used:\n{listed(problems)}")

    @property
    def selection(self) -> dict[str, Any]:
        """What `select` takes."""
        return {name: getattr(self, name) for name in ("samples", "first", "per_class", "ids", "per_super_category")}

    @property
    def workers(self) -> int:
        """How many processes."""
        return worker_count(self.jobs)


def worker_count(jobs: int | None) -> int:
    """Return how many processes work: `jobs`, else one a core that this process may use; one where no others can be
    started.
    """
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return workers_at_most(jobs)
