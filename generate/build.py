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
from .work.dask_workers import connect


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

    The dataset is built in the folder ``<name>-<version>.partial``. The folder is renamed when the dataset is finished.
    To resume an interrupted build, make the same call again. To discard an unfinished build, delete its folder. A
    finished dataset is never changed.

    Parameters
    ----------
    recipe : str, path or Recipe
        The name of a shipped recipe, or a recipe file (.toml).
    source : str or Source
        The source of images, such as ``sample``, ``folder:PATH``, ``imagenet:PATH`` or ``cifar10:PATH``. All sources
        are listed in docs/sources.md.
    out : path
        The parent folder. The dataset is written to ``<out>/<name>-<version>``.
    extend : path, optional
        A finished dataset with the same recipe, source and options. The new dataset contains the existing sets and the
        requested sets. The files of existing sets are linked, or copied if links are not possible.
    part : (int, int), optional
        Build only the share of one job in a job array. ``(i, n)`` stands for job i of n, counting from 0. The other
        shares are built by other processes. The shares depend only on the build and on n (see docs/array-jobs.md).
    finish : bool
        Whether to make no parts, and only finish the dataset. All parts must have been built before, by calls with
        `part`.
    progress : callable or bool, optional
        Called with a `ProgressEvent`. By default, a progress bar is shown in terminals and notebooks. False disables
        it.
    seed : int
        The random seed, from 0 to 2**53 - 1.
    jobs : int, optional
        The number of worker processes. The default is one per core. If it is 1, this process does the work. The result
        does not depend on this number.
    sets : sequence of str, optional
        The sets to build: ids such as ``clean``, aliases, or patterns such as ``fog/*``. The default is all sets of the
        recipe.
    samples : int, optional
        Use only this number of images, spread evenly over the source.
    first : int, optional
        Use only this number of images, from the beginning of the source.
    per_class : int, optional
        Use only this number of images from each class, from the beginning of the source.
    ids : path or sequence of str, optional
        Use only images with these ids. They can be given as a text file with one id per line.
    per_super_category : path or str, optional
        Use only the first images of each group of classes. A TOML file defines the groups and the number of images per
        group. The file ``fragile-imagenet`` is included in corruptset.
    storage : {"folder", "hdf5", "both"}, optional
        Store images as files in folders, in HDF5 shards, or both. The default is set by the recipe. Lossless images of
        different sizes cannot be stored in HDF5 shards.
    encoding : str, optional
        The image format: ``png``, ``jpeg`` or ``jpeg:QUALITY``, such as ``jpeg:95``. The default is set by the recipe.
        ``jpeg`` keeps the JPEG settings of the recipe, or uses quality 85 if the recipe stores PNG.
    optimize : bool
        Whether to optimise the Huffman tables of JPEG files. The files are smaller and have the same pixels, but
        encoding takes longer.
    skip_bad : bool
        Whether to leave out images that cannot be used, and to record them in the manifest. By default, such images
        stop the build before anything is written.
    calibration : str, path or Calibration, optional
        The severity table, which overrides the recipe's: ``imagenet``, ``inception``, ``tiny``, ``cifar``, ``mnist``,
        or a TOML file.
    coupling : {"independent", "severity"}
        Whether each severity has its own random draws (``independent``), or all severities of a corruption share the
        same draws (``severity``).
    scale : {"none", "side"}, optional
        Whether lengths in pixels are used as tabulated (``none``), or scaled with the short side of the image
        (``side``). The default is set by the recipe.
    metrics : int or "all", optional
        The number of images on which PSNR, SSIM and changed pixels are measured. The images whose ids sort first are
        used. The default is 64. With 0, no metrics are measured.
    frost_textures : path, optional
        A folder with frost textures, which replace the textures of corruptset.
    surrogate : path, optional
        The model file (.toml) for the sets of ``pgd`` and ``model_gradient``, which overrides the recipe's. See
        docs/models.md.
    device : str, optional
        The device on which the model runs: ``cpu`` (the default), ``cuda`` or ``cuda:1``.
    surrogate_batch : int, optional
        The batch size of the model. With 1, the default, the bytes do not depend on the order of the images. With
        larger batches, they may.
    labels : path, optional
        Where to find the labels. For a flat folder, a CSV file (file,label); for ``imagenet``, the devkit or a list;
        for ``cifar100``, ``fine`` or ``coarse``; for ``hdf5``, the name of a dataset; for ``parquet``, the name of a
        column; for ``webdataset``, a key of the .json files.
    split : {"test", "train", "val", "all"}, optional
        The split to use. The default is ``test`` for ``cifar10``, ``cifar100`` and ``mnist``, and ``val`` for
        ``tiny-imagenet``. Folders of Parquet files can have splits too.
    groups : path, optional
        Where to find the groups of the images. For ``folder`` and ``imagenet``, a CSV file (file,group); for
        ``icons50``, ``style`` (the default) or ``subtype``.
    hold_out : str or sequence of str, optional
        Use only images from these groups, which are held out of training. Write each group as ``group=NAME``; patterns
        are allowed. This option replaces the groups that the recipe holds out.
    train : bool
        Whether to use the images of all groups that are not held out. The role of the sets is then ``train``.
    images : str, optional
        Where to find the images. For ``hdf5``, the name of a dataset (``images`` by default); for ``parquet``, the name
        of a column; for ``webdataset``, the suffix of the images to use if a key has several, such as ``left.jpg``; for
        ``tree``, a pattern such as ``val2017/*.jpg``. Files of a ``tree`` that do not match the pattern are copied.
    any_shape : bool
        Whether to accept images of any size and number of channels, even if the recipe expects specific ones.
    store : {"images", "table"}, optional
        For a recipe with regions: whether to store each region as an image, or whole images with a table of regions.
    page : bool
        Whether to write index.html, a page that shows the dataset.
    plugins : sequence of str or path, optional
        Python modules or files (.py) that define further corruptions. Their code is executed.
    disjoint_from : path or sequence of path
        Finished datasets, such as a test set. The build fails if any of its images is also in one of these datasets.
    scheduler : str or distributed.Client, optional
        The address of a Dask scheduler (``tcp://host:8786``), or a client connected to it. The scheduler's workers make
        the parts. They need this version of corruptset, and access to the source and to the output folder.

    Returns
    -------
    Built or PartBuilt
        The finished build, or the result of one array job if `part` is given.

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        The requested build is not possible, or the directory contains a different build. Nothing was written.
    MissingParts
        `finish` is True, but parts are missing. The message lists the jobs that make the missing parts.
    MachineError
        The disk, the memory or the workers failed. To resume, make the same call again.
    Interrupted
        The call was interrupted (Ctrl-C). To resume, make the same call again.
    """
    require_build()
    out = local_folder(out, "builds are written to")
    with resumable(out) as place, connect(options.get("scheduler")) as client:
        share = None if part is None else parse_job(part)
        prepared = prepare(recipe, source, BuildOptions(**options))
        directory = out / prepared.folder
        place.directory = unfinished_folder(directory)
        if (share is not None) + finish + (client is not None) > 1:
            raise BuildError(
                "part, finish and scheduler cannot be combined. In a job array, first build all shares with "
                "part=(i, n), and then call build with finish=True. With a scheduler, leave part and finish out."
            )
        builder = Builder(
            prepared, directory, progress_function(progress), client, None if extend is None else Path(extend)
        )
        return builder.build_all(finish_only=finish) if share is None else builder.build_share(*share)
