"""The public function `build`, which builds a corrupted dataset from a recipe and a source of images."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Unpack, overload

from ..errors import BuildError, require_build
from ..manifests.disk.remote import local_folder
from ..manifests.paths import unfinished_folder
from ..progress import progress_function, shows_progress
from .builder import Builder, BuildProgress
from .built import Built, PartBuilt
from .commit.interruption import resumable
from .plan.options import BuildKeywords, BuildOptions
from .plan.parts import parse_job
from .plan.recipe_build import prepare
from .recipes.recipe import Recipe
from .sources.source import Source
from .work.dask_workers import connected


@overload
def build(
    recipe: str | Path | Recipe = ...,
    source: str | Source = ...,
    out: str | Path = ...,
    *,
    extend: str | Path | None = ...,
    part: None = ...,
    finish: bool = ...,
    progress: BuildProgress | bool | None = ...,
    **options: Unpack[BuildKeywords],
) -> Built: ...


@overload
def build(
    recipe: str | Path | Recipe = ...,
    source: str | Source = ...,
    out: str | Path = ...,
    *,
    extend: str | Path | None = ...,
    part: tuple[int, int],
    finish: Literal[False] = ...,
    progress: BuildProgress | bool | None = ...,
    **options: Unpack[BuildKeywords],
) -> PartBuilt: ...


@shows_progress("build")
def build(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    out: str | Path = "corruptset-out",
    *,
    extend: str | Path | None = None,
    progress: BuildProgress | bool | None = None,
    part: tuple[int, int] | None = None,
    finish: bool = False,
    **options: Unpack[BuildKeywords],
) -> Built | PartBuilt:
    """Build a corrupted dataset from a recipe and a source of images.

    The dataset is built in the folder ``<name>-<version>.partial``, which is renamed when it is finished. To resume a
    build that was interrupted, make the same call again. To discard an unfinished build, delete its folder. A finished
    dataset is never changed.

    Parameters
    ----------
    recipe : str, path or Recipe
        The name of a shipped recipe, or a recipe file (.toml).
    source : str or Source
        The source of images, such as ``sample``, ``folder:PATH``, ``imagenet:PATH`` or ``cifar10:PATH``. All sources
        are listed in docs/sources.md.
    out : path
        The dataset is written to ``<out>/<name>-<version>``.
    extend : path, optional
        A finished dataset of the same recipe, source and options. The new dataset also contains the sets of that
        dataset. Their files are linked, or copied if that is not possible, and only the remaining sets are made.
    part : (int, int), optional
        ``(i, n)`` makes only the share of job i, from 0, of an array of n jobs, and stops. Other processes make the
        other shares. The shares depend only on the build and on n; see docs/array-jobs.md.
    finish : bool
        Make no parts, but write the manifest from the parts that were made with `part`.
    progress : callable or bool, optional
        Called with a `ProgressEvent`. By default a bar is shown in a terminal and in a notebook; False shows none.
    seed : int
        The random seed, from 0 to 2**53 - 1.
    jobs : int, optional
        The number of worker processes, by default one per core. With 1, this process does the work. The result does not
        depend on the number.
    sets : sequence of str, optional
        Build only these sets, given by ids such as ``clean``, aliases, or patterns such as ``fog/*``.
    samples : int, optional
        Take only this many images, spread evenly over the order of the source.
    first : int, optional
        Take only the first images of the source.
    per_class : int, optional
        Take only the first images of each class.
    ids : path or sequence of str, optional
        Take only the images with these ids, or those that a text file lists, one id per line.
    per_super_category : path or str, optional
        Take the first images of each group of classes, as many as a file (.toml) says. ``fragile-imagenet`` comes with
        corruptset.
    storage : {"folder", "hdf5", "both"}, optional
        Store images as files in folders, in HDF5 shards, or in both. The default is that of the recipe. Lossless images
        of several sizes cannot be stored in HDF5 shards.
    encoding : str, optional
        Encode images as ``png``, ``jpeg`` or ``jpeg:QUALITY``, such as ``jpeg:95``. The default is that of the recipe.
        ``jpeg`` keeps the JPEG settings of the recipe, or uses quality 85 if the recipe stores PNG.
    optimize : bool
        Write smaller JPEG files with the same pixels (optimised Huffman tables), which takes longer.
    skip_bad : bool
        Leave out images that cannot be used and record them in the manifest, instead of stopping before anything is
        written.
    calibration : str, path or Calibration, optional
        The table of severities, in place of the recipe's: ``imagenet``, ``inception``, ``tiny``, ``cifar``, ``mnist``,
        or a file (.toml).
    coupling : {"independent", "severity"}
        Whether each severity has its own random draws, or all severities of a corruption share them.
    scale : {"none", "side"}, optional
        Whether lengths in pixels are those of the table, or grow with the short side of the image. The default is that
        of the recipe.
    metrics : int or "all", optional
        The number of images, the first by id, on which PSNR, SSIM and changed pixels are measured. The default is 64; 0
        measures none.
    frost_textures : path, optional
        A folder with frost textures that replace those of corruptset.
    surrogate : path, optional
        The model file (.toml) for the sets of ``pgd`` and ``model_gradient``, in place of the recipe's; see
        docs/models.md.
    device : str, optional
        The device on which the model runs: ``cpu`` (the default), ``cuda`` or ``cuda:1``.
    surrogate_batch : int, optional
        The batch size of the model. Only 1, the default, gives the same bytes in any order.
    labels : path, optional
        The labels: for a flat folder a CSV (file,label), for ``imagenet`` the devkit or a list, for ``cifar100``
        ``fine`` or ``coarse``, for ``hdf5`` the name of a dataset, for ``parquet`` the name of a column, for
        ``webdataset`` a key of the .json files.
    split : {"test", "train", "val", "all"}, optional
        The split of ``cifar10``, ``cifar100`` or ``mnist`` (``test`` by default), of ``tiny-imagenet`` (``val`` by
        default), or of a folder of Parquet files.
    groups : path, optional
        The groups of images: for ``folder`` and ``imagenet`` a CSV (file,group), for ``icons50`` ``style`` (the
        default) or ``subtype``.
    hold_out : str or sequence of str, optional
        Take only the images of this group (``group=NAME``, patterns are allowed), which is held out of training.
        This option replaces the groups that the recipe holds out.
    train : bool
        Take the images of all groups that are not held out. The role of the sets is then ``train``.
    images : str, optional
        For ``hdf5``, the name of the dataset of images, by default ``images``. For ``parquet``, the name of the
        column of images. For ``webdataset``, which of several images of a key to use, such as ``left.jpg``. For
        ``tree``, a pattern such as ``val2017/*.jpg`` that says which files are images; all other files are copied.
    any_shape : bool
        Accept images of any size and number of channels, even if the recipe expects different ones.
    store : {"images", "table"}, optional
        For a recipe with regions, store each region as an image, or whole images and a table of regions.
    page : bool
        Write the page index.html, which shows the dataset.
    plugins : sequence of str or path, optional
        Python modules or files (.py) that define further corruptions. Their code is run.
    disjoint_from : path or sequence of path
        Fail if an image is also in one of these finished datasets, such as a test set.
    scheduler : str or distributed.Client, optional
        A Dask scheduler (``tcp://host:8786``) or a client of it, whose workers make the parts. The workers need this
        version of corruptset, and access to the source and the output.

    Returns
    -------
    Built, or PartBuilt with `part`

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        The requested build is not possible, or the directory contains a different build. Nothing was written.
    MissingParts
        With `finish`, parts are missing. The message lists the jobs that make them.
    MachineError
        The disk, the memory or the workers failed. To resume, make the same call again.
    Interrupted
        The call was interrupted (Ctrl-C). To resume, make the same call again.
    """
    require_build()
    out = local_folder(out, "builds are written to")
    with resumable(out) as place, connected(options.get("scheduler")) as client:
        share = None if part is None else parse_job(part)
        prepared = prepare(recipe, source, BuildOptions(**options))
        directory = out / prepared.folder
        place.directory = unfinished_folder(directory)
        if (share is not None) + finish + (client is not None) > 1:
            raise BuildError(
                "part, finish and scheduler cannot be combined. In an array of jobs, make all shares with part=(i, n) "
                "first, then finish with finish=True. With a scheduler, leave part and finish out."
            )
        builder = Builder(
            prepared, directory, progress_function(progress), client, None if extend is None else Path(extend)
        )
        return builder.build_all(finish_only=finish) if share is None else builder.build_share(*share)
