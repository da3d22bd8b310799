"""Regenerate a dataset from its source and its records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from blake3 import blake3

from ...digests import digest_of
from ...errors import BuildError, FinishedDataset, VerificationError, first_few, format_list, require_build
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.disk.remote import local_folder
from ...manifests.paths import CONTACT, MANIFEST, PAGE, README, set_path, unfinished_folder
from ...manifests.reader import Dataset
from ...manifests.records.models import ImageRecord
from ...manifests.release.release import Release, read_release
from ...progress import progress_function, shows_progress
from ..builder import Builder, BuildProgress
from ..built import Built
from ..commit.interruption import resumable
from ..recipes.choice import choose_sets
from ..sources.source import Source
from ..work.sidecars import read_sidecar
from .agreement import PIXEL_LIBRARIES, library_advice
from .inputs import RemakeOptions, release_folder
from .recorded_build import RecordedPlan, recorded_build, specs_of

MAX_DIFFERING = 1000
"""The number of differing images at which a rebuild stops."""


@dataclass(frozen=True)
class Rebuilt:
    """A regenerated dataset. Its pixels are those that the manifest records."""

    built: Built
    whole: bool
    """Whether the regenerated dataset has all sets of the manifest, and therefore the same digest."""
    other_files: tuple[str, ...]
    """The paths of records, shards and texts whose bytes differ from the recorded ones because of library versions."""
    other_images: int
    """The number of images whose pixels are equal, but whose bytes differ because of the OpenCV version."""
    advice: str
    """A sentence that compares the library versions with the recorded ones, for the case that bytes differ."""

    @property
    def identical(self) -> bool:
        """Whether every file has the recorded bytes."""
        return not self.other_files and not self.other_images

    def __repr__(self) -> str:
        others = f"the bytes of {len(self.other_files)} files and {self.other_images:,} images differ"
        return (
            f"<Rebuilt {'' if self.whole else 'a part of '}{self.built!r}: "
            f"{'all bytes are equal' if self.identical else others}>"
        )

    def _repr_html_(self) -> str:
        return self.built._repr_html_()


@shows_progress("rebuild")
def rebuild(
    manifest: str | Path,
    source: str | Source | None = None,
    out: str | Path = "corruptset-out",
    *,
    sets: Sequence[str] | None = None,
    labels: str | Path | None = None,
    images: str | None = None,
    groups: str | Path | None = None,
    frost_textures: str | Path | None = None,
    plugins: Sequence[str | Path] | None = None,
    surrogate: str | Path | None = None,
    device: str | None = None,
    jobs: int | None = None,
    progress: BuildProgress | bool | None = None,
) -> Rebuilt:
    """Regenerate a dataset from its source and its records, and check every image.

    The manifest determines the recipe, the selection, the seed, the encoding and the storage. To resume an interrupted
    call, make the same call again.

    Parameters
    ----------
    manifest : path
        The file manifest.json, its folder, or a folder that `pack` wrote. The folder must also contain samples.jsonl.
        It must contain sets/ too, unless it was packed with one digest per set instead of one digest per image.
    source : str or Source, optional
        The source of the samples. It is not needed if the dataset was built from the source ``sample``.
    out : path
        The parent folder. The dataset is written to ``<out>/<name>-<version>``.
    sets : sequence of str, optional
        Patterns of set ids and aliases. By default, all sets of the manifest are regenerated.
    labels, images, groups : optional
        The options with which the build read its source.
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
    progress : callable or bool, optional
        Called with a `ProgressEvent`. By default, a progress bar is shown in terminals and notebooks. False disables
        it.

    Returns
    -------
    Rebuilt

    Raises
    ------
    SourceError
        The files of the source differ from the recorded ones. Nothing was written.
    VerificationError
        The release contradicts itself, the revisions of corruptions differ, or the first images are decoded
        differently. Nothing was written. The error is also raised if regenerated images differ. In that case, equal
        images are kept, but no manifest is written.
    BuildError
        The directory contains a different build.
    MachineError, Interrupted
        The machine failed, or the call was interrupted. To resume, make the same call again.
    """
    require_build()
    out = local_folder(out, "datasets are rebuilt in")
    with resumable(out) as place:
        data = Dataset(release_folder(manifest))
        directory = out / f"{data.manifest.name}-{data.manifest.version}"
        place.directory = unfinished_folder(directory)
        if directory.exists() and directory.resolve() == data.path.resolve():
            raise BuildError(
                f"{directory} is the release itself. Choose another --out, or regenerate its missing files in place "
                f"with corruptset verify {directory} --repair --source SOURCE."
            )
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
        release = read_release(data, [s.id for s in choose_sets(specs_of(data.manifest), sets)])
        build = RecordedPlan(data, recorded_build(data, remake, sets=sets))
        try:
            builder = Builder(build, directory, progress_function(progress))
            built = builder.build_all(ReleaseComparison(release, place.directory))
        except FinishedDataset as e:
            raise BuildError(
                f"{directory} is a finished dataset, which is never changed. It lacks {len(e.lacking)} of the "
                f"requested sets ({first_few(e.lacking)}). Choose another --out."
            ) from None
    return _compare_files(built, release)


@dataclass
class ReleaseComparison:
    """An `Inspector` that compares every new part with a release, and discards parts with different pixels."""

    release: Release
    directory: Path
    compared_parts: set[Path] = field(default_factory=set)
    """The sidecars of the parts that have been compared."""
    compared: int = 0
    """The number of images that have been compared."""
    differing: dict[str, dict[str, None]] = field(default_factory=dict)
    """A mapping from set ids to the ids of samples whose pixels differ in that set. Samples whose clean pixels differ
    are listed only under ``""``.
    """

    def check_part(self, sidecar: Path) -> None:
        """Compare one part with the release."""
        self.compared_parts.add(sidecar)
        record = read_sidecar(sidecar)
        samples = self.release.data.samples[record.first : record.stop]
        clean_equal = np.array([pixels == sample.pixels for pixels, sample in zip(record.clean, samples, strict=True)])
        differing = {"": ~clean_equal}
        for set_id, entry in record.sets.items():
            self.compared += entry.count
            if (expected := self.release.pixels.get(set_id)) is not None:
                made = np.frombuffer(bytes.fromhex(entry.pixels), np.uint8).reshape(-1, 32)
                differing[set_id] = clean_equal & (made != expected[record.first : record.stop]).any(1)
        for step, mask in differing.items():
            if mask.any():
                sidecar.unlink(missing_ok=True)
                self.differing.setdefault(step, {}).update(dict.fromkeys(samples[i].id for i in np.flatnonzero(mask)))
        if sum(map(len, self.differing.values())) >= MAX_DIFFERING:
            self._refuse()

    def check_all(self, sidecars: Iterable[Path]) -> None:
        """Compare parts that earlier calls made, and sets for which only one digest is recorded."""
        committed = sorted(sidecars)  # the names of sidecars sort in the order of the chunks
        for path in committed:
            if path not in self.compared_parts:
                self.check_part(path)
        self._refuse()
        recorded = {s.id: s.pixel_digest for s in self.release.data.manifest.sets if s.id not in self.release.pixels}
        hashes: dict[str, blake3] = {}
        parts: dict[str, list[Path]] = {}
        for path in committed if recorded else ():
            for set_id, entry in read_sidecar(path).sets.items():
                hashes.setdefault(set_id, blake3()).update(bytes.fromhex(entry.pixels))
                parts.setdefault(set_id, []).append(path)
        for set_id in recorded.keys() & hashes.keys():
            if (digest := digest_of(hashes[set_id])) != recorded[set_id]:
                detail = (
                    f"its digest is {digest}, but {recorded[set_id]} is recorded; no digests of images are recorded"
                )
                self.differing[set_id] = {detail: None}
                for path in parts[set_id]:
                    path.unlink(missing_ok=True)
        self._refuse()

    def _refuse(self) -> None:
        """Raise `VerificationError` if images differ. For each sample, the message names the first differing step."""
        if not self.differing:
            return
        lines = [
            f"{f'corruption, {step}' if step else 'decoding or preprocessing'}: {len(what)} ({first_few([*what])})"
            for step, what in sorted(self.differing.items())
        ]
        libraries = ["pillow"] if "" in self.differing else PIXEL_LIBRARIES
        raise VerificationError(
            f"The images differ from those of {self.release.data.name} ({self.compared} were compared). The first "
            f"difference is in:\n{format_list(lines)}\n{library_advice(self.release.data.manifest, *libraries)}\nThe "
            f"equal images are kept in {self.directory}, which has no manifest yet. Fix the cause, and run the same "
            "command again to make the others."
        )


def _compare_files(built: Built, release: Release) -> Rebuilt:
    """Return the result of a rebuild, after comparing the bytes of all files with the release."""
    manifest, root = release.data.manifest, release.data.path
    wanted, made = ({s.id: s.pixel_digest for s in some.sets} for some in (manifest, built.manifest))
    if problems := [f"{s}: has {made[s]}, expected {wanted[s]}" for s in made if made[s] != wanted.get(s, made[s])]:
        raise VerificationError(
            f"{built.directory} already existed, and its sets differ from those of the "
            f"manifest:\n{format_list(problems)}\nChoose another --out, or delete that directory."
        )
    recorded = {f.path: f.sha256 for f in manifest.files}
    other = sorted(f.path for f in built.manifest.files if recorded.get(f.path, f.sha256) != f.sha256)
    if not (whole := made.keys() == wanted.keys()):
        other = [path for path in other if path not in (CONTACT, PAGE, README)]  # these depend on the selected sets
    elif (built.directory / MANIFEST).read_bytes() != (root / MANIFEST).read_bytes():
        other.insert(0, MANIFEST)  # the field `environment` records different library versions
    images = 0
    for path in {set_path(s) for s in release.pixels} & {*other}:
        rows = (read_jsonl(folder / path, ImageRecord) for folder in (built.directory, root))
        images += sum(
            [f.sha256 for f in mine.files] != [f.sha256 for f in theirs.files]
            for mine, theirs in zip(*rows, strict=True)
        )
    advice = library_advice(manifest, "opencv-python-headless", "pillow", "corruptset")
    return Rebuilt(built, whole, tuple(other), images, advice)
