"""`rebuild`: a data set made again from its source and its records.

Image by image against the manifest's digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3

from ...digests import digest_of
from ...errors import BuildError, VerificationError, first_few, listed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.disk.remote import local_folder
from ...manifests.layout import CONTACT, MANIFEST, PAGE, README, set_path
from ...manifests.reader import DataSet
from ...manifests.records.models import ImageRecord, Manifest
from ...manifests.release.release import Release, read_release
from ...progress import progress_function, shows_progress
from ...signatures import showing
from ..build import Progress, make_build
from ..built import Built
from ..commit.interruption import resumable
from ..recipes.choice import choose_sets
from ..sources.source import Source
from ..work.sidecars import read_sidecar
from .agreement import PIXEL_LIBRARIES, library_advice
from .from_manifest import recorded_build, specs_of
from .release_folder import release_folder
from .remake_options import RemakeOptions

ENOUGH = 1000
"""After so many images that differ, the rest is not made."""


@dataclass(frozen=True)
class Rebuilt:
    """A data set that was made again.

    Its pixels are those of the manifest, image by image.
    """

    built: Built
    whole: bool
    """Whether it has all sets of the manifest, and so its digest."""
    other_files: tuple[str, ...]
    """Records, shards, texts with other bytes than the manifest lists: other releases of libraries wrote them."""
    other_images: int
    """Images of the same pixels that are stored in other bytes: another release of OpenCV encoded them."""
    advice: str
    """What the manifest says of the libraries, where bytes differ."""

    @property
    def identical(self) -> bool:
        """Whether every file has the bytes that the manifest lists."""
        return not self.other_files and not self.other_images

    def __repr__(self) -> str:
        others = f"{len(self.other_files)} files and {self.other_images:,} images stored in other bytes"
        return (
            f"<Rebuilt {'' if self.whole else 'a part of '}{self.built!r}: "
            f"{'every byte equal' if self.identical else others}>"
        )

    def _repr_html_(self) -> str:
        return self.built._repr_html_()


@showing(RemakeOptions)
@shows_progress("rebuild")
def rebuild(
    manifest: str | Path,
    source: str | Source | None = None,
    out: str | Path = "corruptset-out",
    *,
    sets: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Rebuilt:
    """Make a data set again from its source and its records, checking every image.

    Recipe, selection, seed, encoding and containers are the manifest's. The same call resumes one that was stopped.

    Parameters
    ----------
    manifest : path
        manifest.json, or its folder, where samples.jsonl stands and, unless it was packed with one digest a set, sets/;
        or what `pack` wrote.
    source : str or Source, optional
        Where the samples came from; not needed for a build of ``sample``.
    out : path
        The data set goes to ``<out>/<name>-<version>``.
    sets : sequence of str, optional
        Globs over set ids and aliases; by default all of the manifest's.
    progress : callable or bool, optional
        Called with the step, what is done and the total. By default a bar is shown in a terminal and in a notebook;
        False shows none.
    **options
        The other fields of `corruptset.generate.again.remake_options.RemakeOptions`: labels, images, groups,
        frost_textures, surrogate, device, jobs.

    Returns
    -------
    Rebuilt

    Raises
    ------
    SourceError
        The source is another one: its bytes differ. Nothing was written.
    VerificationError
        The release contradicts itself, corruptions have other revisions here, or the first images are decoded
        differently (nothing was written); or images differ (those that are equal are kept, and no manifest is written).
    BuildError
        The directory holds another build.
    MachineError, Interrupted
        As of `build`; the same call resumes.
    """
    out = local_folder(out, "data sets are rebuilt in")
    with resumable(out) as place:
        data = DataSet(release_folder(manifest))
        place.directory = out / f"{data.manifest.name}-{data.manifest.version}"
        if place.directory.exists() and place.directory.resolve() == data.path.resolve():
            raise BuildError(
                f"{place.directory} is the release itself. Choose another --out; or make what is missing in place: "
                f"corruptset verify {place.directory} --repair --source SOURCE."
            )
        remake = RemakeOptions(source=source, **options)
        asked = [s.id for s in choose_sets(specs_of(data.manifest), sets)]
        release = read_release(data, asked)
        build = recorded_build(data, remake, sets=sets)
        built = make_build(build, place.directory, progress_function(progress), Comparison(release, place.directory))
    _refuse_other_sets(built, data.manifest)
    return _compared(built, release)


@dataclass
class Comparison:
    """Compares parts with a release as they are made.

    A part with an image that differs is not kept.
    """

    release: Release
    directory: Path
    seen: set[Path] = field(default_factory=set)
    compared: int = 0
    differing: dict[str, dict[str, None]] = field(default_factory=dict)
    """``""`` -> samples whose clean pixels are others; set -> samples whose clean pixels are right and whose pixels in
    it are others.
    """

    def part(self, sidecar: Path) -> None:
        """Compare one part."""
        self.seen.add(sidecar)
        record = read_sidecar(sidecar)
        samples = self.release.data.samples[record.first : record.stop]
        right = np.array([pixels == sample.pixels for pixels, sample in zip(record.clean, samples, strict=True)])
        others = {"": ~right}
        for set_id, entry in record.sets.items():
            self.compared += entry.count
            if (expected := self.release.pixels.get(set_id)) is not None:
                made = np.frombuffer(bytes.fromhex(entry.pixels), np.uint8).reshape(-1, 32)
                others[set_id] = right & (made != expected[record.first : record.stop]).any(1)
        others = {step: other for step, other in others.items() if other.any()}
        for step, other in others.items():
            self.differing.setdefault(step, {}).update(dict.fromkeys(samples[i].id for i in np.flatnonzero(other)))
        if others:
            sidecar.unlink()
        if sum(map(len, self.differing.values())) >= ENOUGH:
            self._refuse()

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Compare what an earlier call committed, and sets with one digest alone.

        Raises if anything differs.
        """
        committed = sorted(sidecars)  # run by run
        for path in committed:
            if path not in self.seen:
                self.part(path)
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
                what = f"its digest is {digest}, recorded is {recorded[set_id]}, and nothing says which image differs"
                self.differing[set_id] = {what: None}
        for path in {path for set_id in self.differing for path in parts[set_id]}:
            path.unlink()
        self._refuse()

    def _refuse(self) -> None:
        """Raise `VerificationError` with the step that differs first, if images differ."""
        if not self.differing:
            return
        lines, manifest = list[str](), self.release.data.manifest
        for step, what in sorted(self.differing.items()):
            lines.append(
                f"{f'corruption, {step}' if step else 'decoding or preprocessing'}: {len(what)} ({first_few([*what])})"
            )
        advice = (
            library_advice(manifest, "pillow") if "" in self.differing else library_advice(manifest, *PIXEL_LIBRARIES)
        )
        raise VerificationError(
            f"The images differ from those of {self.release.data.path} ({self.compared} were compared). The first "
            "difference is in:\n"
            f"{listed(lines)}\n{advice}\nWhat is equal is kept in {self.directory}, without a manifest: once that is "
            "mended, the same command makes the rest."
        )


def _refuse_other_sets(built: Built, manifest: Manifest) -> None:
    """Raise if a set of a finished build that existed before differs from the manifest's."""
    wanted = {s.id: s.pixel_digest for s in manifest.sets}
    made = {s.id: s.pixel_digest for s in built.manifest.sets if s.id in wanted}
    problems = [f"{s}: has {digest}, expected {wanted[s]}" for s, digest in made.items() if digest != wanted[s]]
    if problems:
        raise VerificationError(
            f"{built.directory} existed before, and its sets are not those of the manifest:\n{listed(problems)}\n"
            "Choose another --out, or delete that directory."
        )


def _compared(built: Built, release: Release) -> Rebuilt:
    """Return how the bytes of what was made compare with those that the manifest lists."""
    recorded = {f.path: f.sha256 for f in release.data.manifest.files}
    other = tuple(sorted(f.path for f in built.manifest.files if recorded.get(f.path, f.sha256) != f.sha256))
    whole = {s.id for s in built.manifest.sets} == {s.id for s in release.data.manifest.sets}
    if whole and (built.directory / MANIFEST).read_bytes() != (release.data.path / MANIFEST).read_bytes():
        other = (MANIFEST, *other)  # environment names other releases
    if not whole:
        # they show the sets that there are
        other = tuple(path for path in other if path not in (CONTACT, PAGE, README))
    images = 0
    for path in {set_path(s) for s in release.pixels} & {*other}:
        rows = zip(
            *(read_jsonl(root / path, ImageRecord) for root in (built.directory, release.data.path)), strict=True
        )
        images += sum([f.sha256 for f in mine.files] != [f.sha256 for f in theirs.files] for mine, theirs in rows)
    return Rebuilt(
        built,
        whole,
        other,
        images,
        library_advice(release.data.manifest, "opencv-python-headless", "pillow", "corruptset"),
    )
