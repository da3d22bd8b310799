"""The options of a build, each described once, for command line, signatures and docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...arguments import check_number
from ...errors import BuildError, listed
from ...workers import workers_at_most

if TYPE_CHECKING:  # the command line takes its options from here, and shows its help without these
    from ...corruptions.calibrations import Calibration
    from ...corruptions.stages import Coupling, Scale
    from ...manifests.records.fields import Storage

Split = Literal["test", "train", "all"]


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of `build` and `plan`, beside a recipe and a source.

    Parameters
    ----------
    seed : int
        What random draws start from: 0 to 2**53 - 1.
    jobs : int, optional
        Worker processes; by default one a core.

        1 works in this process. No byte depends on it.
    sets : sequence of str, optional
        Only these sets: ids such as ``clean``, aliases or patterns such as ``fog/*``.
    samples : int, optional
        Only N samples, spread evenly over the source's order.
    first : int, optional
        Only the first N samples of the source.
    per_class : int, optional
        Only the first N samples of every class.
    ids : path or sequence of str, optional
        Only the samples that this text file names, one id a line.

        In Python also the ids themselves.
    per_super_category : path or str, optional
        Only the first samples of every super-category, as many as a file says (.toml); ``fragile-imagenet`` is one
        that comes with corruptset.
    storage : {"folder", "hdf5", "both"}, optional
        How images are stored: as files in image folders, in HDF5 shards, or in both. The default is the recipe's.

        Lossless images of several sizes cannot be stored in HDF5 shards.
    encoding : str, optional
        How images are encoded: png, jpeg or jpeg:QUALITY, such as jpeg:95. The default is the recipe's.

        ``jpeg`` keeps the recipe's JPEG settings, or uses quality 85 if the recipe stores PNG.
    optimize : bool
        Smaller JPEG files (the same pixels, optimised Huffman tables), written more slowly.
    skip_bad : bool
        Build without images that cannot be used, and record them in the manifest, instead of stopping before anything
        is written.
    calibration : str, path or Calibration, optional
        The table of severities in place of the recipe's: imagenet, inception, tiny, cifar, mnist, or a file (.toml).
    coupling : {"independent", "severity"}
        ``independent``: every severity draws anew; ``severity``: severities share their draws.
    scale : {"none", "side"}, optional
        In place of the recipe's. ``none``: lengths as in the table; ``side``: lengths grow with the image's short side.
    metrics : int or "all", optional
        How many images, the first by id, PSNR, SSIM and changed pixels are measured on; by default 64, 0 for none.
    frost_textures : path, optional
        A folder of your own frost textures.
    surrogate : path, optional
        The file (.toml) of the model whose gradients pgd and model_gradient follow (docs/models.md), in place of the
        recipe's.
    device : str, optional
        Where the model computes: cpu (the default), cuda or cuda:1.
    surrogate_batch : int, optional
        Images that the model takes at once; only 1, the default, gives the same bytes in any order.
    labels : path, optional
        Where labels come from: for a flat folder a CSV (file,label); for imagenet the devkit or a list; for cifar100
        fine or coarse; for hdf5 a dataset.
    split : {"test", "train", "all"}, optional
        Of cifar10, cifar100 and mnist; by default test.
    groups : path, optional
        What groups the images have: for folder and imagenet a CSV (file,group); for icons50 style (the default) or
        subtype.
    hold_out : str or sequence of str, optional
        Only the images of this group (``group=NAME``), which is held out of training; a pattern will do. In place of
        the groups that the recipe holds out.
    train : bool
        Only the images of all groups that are not held out; the sets' role is train.
    images : str, optional
        For hdf5 the dataset of images, by default images; for tree which files are images: ``val2017/*.jpg``. All
        other files are copied as they are.
    view : str, optional
        Write the images straight in a loader's layout: cifar-c, imagenet-c, tiny-imagenet-c, mnist-c, imagefolder,
        openood, flageval, source-tree.
    any_shape : bool
        Take images of any size and channels, also where the recipe or the view is made for others.
    store : {"images", "table"}, optional
        Of a recipe with regions: each region as an image, or the whole images and a table of regions; by default what
        plan says.
    page : bool
        Write index.html, which shows what was built.
    plugins : sequence of str or path, optional
        A module with corruptions of your own, or its file (.py), beside those that the recipe names. Its code is run.
    disjoint_from : path or sequence of path
        A finished build with which this one must have no sample in common (a test set, for a training set).
    scheduler : str or distributed.Client, optional
        A Dask scheduler (tcp://host:8786): its workers make the parts. They need this corruptset, and see the output
        and the source.

        In Python also a client of it.
    """

    seed: int = 0
    jobs: int | None = None
    sets: Sequence[str] | None = None
    samples: int | None = None
    first: int | None = None
    per_class: int | None = None
    ids: str | Path | Sequence[str] | None = None
    per_super_category: str | Path | None = None
    storage: Storage | None = None
    encoding: str | None = None
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
    disjoint_from: str | Path | Sequence[str | Path] = ()
    scheduler: Any = None

    def check(self) -> None:
        """Raise for every option that is not what it can be."""
        from ...corruptions.keys import check_seed
        from ...corruptions.stages import COUPLINGS, SCALES
        from ..sources.selection import hold_out_problem

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
            ("storage", self.storage, (None, "folder", "hdf5", "both")),
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
        if self.view is not None and self.storage is not None:
            problems.append(
                f"storage is {self.storage!r} and view {self.view!r}; a build's images stand in one or the other"
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
    """Return the number of worker processes: `jobs`, or by default the number of CPUs that this process may use.

    The default respects CPU affinity and the quota of a container. The result is 1 where processes cannot be started.
    """
    if jobs is None:
        try:
            from joblib import cpu_count
        except ImportError:  # the light installation starts no workers
            from os import cpu_count
        jobs = cpu_count() or 1
    check_number("jobs", jobs)
    return workers_at_most(jobs)
