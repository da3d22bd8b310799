"""The public function `verify`, which compares a dataset with its manifest, and optionally with regenerated samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...arguments import integer
from ...errors import CorruptsetError, ParameterError, require_build
from ...manifests.disk.remote import data_folder
from ...manifests.manifest_file import load_manifest
from ...manifests.reader import Dataset
from ...manifests.records.models import Manifest
from ...manifests.records.report import Problem, ProgressCallback, VerificationReport, VerifyLevel
from ...manifests.verify.directory import verify_directory
from ...progress import progress_function, shows_progress
from ..exports.export_check import check_export, verify_export
from ..exports.export_record import is_export
from ..sources.source import Source
from .inputs import RemakeOptions

if TYPE_CHECKING:
    from .repair_state import RepairState


@shows_progress("verify")
def verify(
    directory: str | Path,
    *,
    level: VerifyLevel = "pixels",
    rederive: int | Literal["all"] | None = None,
    repair: bool = False,
    source: str | Source | None = None,
    labels: str | Path | None = None,
    images: str | None = None,
    groups: str | Path | None = None,
    calibration_side: int | None = None,
    frost_textures: str | Path | None = None,
    plugins: Sequence[str | Path] | None = None,
    surrogate: str | Path | None = None,
    device: str | None = None,
    jobs: int | None = None,
    export: str | Path | None = None,
    progress: ProgressCallback | bool | None = None,
) -> VerificationReport:
    """Verify the structure, files, sizes, hashes and pixels of a dataset, and optionally repair it.

    Parameters
    ----------
    directory : path
        The directory of a dataset (with manifest.json) or of an export (with VIEW.json).
    level : {"structure", "sizes", "hashes", "pixels"}
        How thoroughly to verify. Each level includes the checks of the levels before it.
    rederive : int or "all", optional
        The number of evenly spaced samples to regenerate from the source in every set. Their pixel digests and encoded
        bytes must equal the recorded ones, which also checks JPEG files. In sets that are made with a model's
        gradients, up to 1 % of the values may differ. The report notes how many values differ.
    repair : bool
        Whether to regenerate damaged and missing files from the records and the source, and then verify again. All
        other files are left unchanged. The report lists the repaired files. Files that could not be repaired are
        reported as problems of the kind ``unmended``.
    source : str or Source, optional
        The source of the samples. It is not needed if the dataset was built from the source ``sample``.
    labels, images, groups : optional
        The options with which the build read its source.
    calibration_side : int, optional
        The reference side of the calibration, which overrides the one in the manifest.
    frost_textures : path, optional
        The folder of frost textures with which the dataset was built.
    plugins : sequence of str or path, optional
        Python modules or files that define corruptions that are not part of corruptset.
    surrogate : path, optional
        The file (.toml) of the model whose gradients were used for the sets of ``pgd`` and ``model_gradient``.
    device : str, optional
        The device on which the model runs, such as ``cpu``, ``cuda`` or ``cuda:1``.
    jobs : int, optional
        The number of worker processes. The default is one per core.
    export : path, optional
        The folder of an export of this dataset. Every image in the export is compared with the dataset.
    progress : callable or bool, optional
        Called with the step, the amount done and the total. By default, a progress bar is shown in terminals and
        notebooks. False disables it.

    Returns
    -------
    VerificationReport
        A report with all problems. ``report.raise_for_problems()`` raises an error if there are problems.

    Raises
    ------
    SourceError
        The source for `rederive` or `repair` is missing, cannot be read, or differs from the recorded one.
    VerificationError
        The installed corruptions have different revisions from those in the dataset.
    ParameterError
        `rederive` is neither a positive integer nor "all", or `repair` is used with a level below ``pixels``. The error
        is also raised if one of these two is used with an export, or if source options are given without either of
        them.
    MachineError, Interrupted, BuildError
        During a repair, the disk fails, the call is interrupted, or a build is using the directory.
    """
    if rederive is not None and rederive != "all":
        rederive = integer("rederive", rederive)
    if repair and level != "pixels":
        raise ParameterError(f"level is {level!r}, but a repair needs the level 'pixels'. Leave level out.")
    remade: dict[str, object] = {"source": source, "labels": labels, "images": images, "groups": groups}
    remade |= {"frost_textures": frost_textures, "surrogate": surrogate, "device": device}
    remade |= {"calibration_side": calibration_side}
    unused = [name for name, value in remade.items() if value is not None]
    if unused and not repair and rederive is None:
        raise ParameterError(
            f"These options are only used with --rederive N or --repair (rederive or repair in Python): "
            f"{', '.join(unused)}. Add one of the two, or leave them out."
        )
    report_progress, directory = progress_function(progress), data_folder(directory)
    if export is not None or is_export(directory):
        if repair:
            raise ParameterError("Exports cannot be repaired. Export the dataset again.")
        if rederive is not None:
            raise ParameterError("Samples of an export cannot be rederived. Rederive those of its dataset.")
        if export is None:
            return verify_export(directory, progress=report_progress)
        return check_export(directory, export, progress=report_progress)
    if repair or rederive is not None:
        require_build()
    remake = RemakeOptions(
        source=source,
        labels=labels,
        images=images,
        groups=groups,
        frost_textures=frost_textures,
        plugins=plugins,
        surrogate=surrogate,
        device=device,
        jobs=jobs,
    )
    # Modules are imported below, because an installation without the extra `build` cannot import them.
    if rederive is not None and (manifest := _manifest(directory)) is not None:
        from .recorded_build import list_recorded_source

        # The source is opened first, so that a missing source is reported before all files are hashed.
        remake = replace(remake, source=list_recorded_source(manifest, remake))
    state: RepairState | None = None
    if repair:
        before = verify_directory(directory, jobs=remake.workers, progress=report_progress)
        before.mended = []
        if before.ok and rederive is None:
            return before
        if not before.ok:
            from .repair import repair as repair_files

            state = repair_files(Path(directory), before, remake, report_progress)
    samples = 0
    notes: list[str] = []

    def count(step: str, done: int, total: int) -> None:
        nonlocal samples
        samples = done
        report_progress(step, done, total)

    def compare_samples(data: Dataset) -> Iterator[Problem]:
        from .rederive import rederive_samples

        number = None if rederive == "all" else rederive
        return rederive_samples(data, number, remake, side=calibration_side, progress=count, notes=notes)

    report = verify_directory(
        directory,
        level=level,
        rederive=None if rederive is None else compare_samples,
        jobs=remake.workers,
        progress=report_progress,
    )
    report.checked["rederived"] = samples
    report.notes += notes
    report.mended = [] if repair else None
    if state is not None:
        report.mended = sorted(set(state.repaired))
        report.problems = sorted({*report.problems, *state.failures})
    return report


def _manifest(directory: Path) -> Manifest | None:
    """Return the manifest of a dataset, or None if it cannot be read. In that case, the report will explain why."""
    with suppress(CorruptsetError, OSError):
        return load_manifest(directory)
    return None
