"""The source ``imagenet:PATH``: the validation images of ILSVRC2012 in the forms that people have them.

* ``ILSVRC2012_img_val.tar``, read in place, with the devkit or a file of labels;
* the folder of JPEGs from it, flat, likewise;
* a folder, or a tar, of wnid folders.

Every form gives the same samples: the id is the file's stem, the class is the wnid, labels number the sorted wnids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...errors import SourceError, listed
from ...manifests.records.models import ClassRecord
from .devkit import NAMES, VAL, WNID, Truth, find_devkit, read_truth
from .folder import FolderSource
from .listing import Listing, list_folder
from .naming import find_clashes, name_problem, shown
from .source import Sample
from .tarred import Tar, TarSource, image_tar, list_images, with_places

ARCHIVE = "ILSVRC2012_img_val.tar"
WHERE = f"the devkit ({NAMES[0]}, which lies beside the images on image-net.org)"


@dataclass(frozen=True)
class _Place:
    """What a path turned out to be."""

    path: Path
    tar: Tar | None
    listing: Listing
    root: str
    """The folder in the tar that the images are listed from."""
    listed: Path | None = None
    """The folder that was given and listed, where it is one."""


def open(rest: str, *, labels: Path | None = None) -> FolderSource | TarSource:
    """Open the validation images; none of them is read.

    Parameters
    ----------
    rest : str
        The tar, or a folder: of JPEGs, of wnid folders, or one that holds such a folder ``val`` or the tar.
    labels : path, optional
        The devkit (tar.gz or folder) or a file of labels; without it a devkit beside the images is taken.

    Raises
    ------
    SourceError
        The path is not there or is something else, there are no labels, or images and labels do not agree.
    """
    place = _place(rest, labels)
    listing = place.listing
    flat = [path for path in listing.images if "/" not in path]
    if not listing.images:
        raise SourceError(f"The source imagenet:{rest}: {place.path} holds no image.{_found(listing.notes)}")
    if flat and len(flat) < len(listing.images):
        raise SourceError(
            f"The source imagenet:{rest}: {place.path} holds {len(flat)} images of its own beside {len(listing.images) - len(flat)} "
            "in folders. Expected all flat, or all in wnid folders."
        )
    if flat:
        truth = _truth(rest, place, labels)
        pairs, wnids = _of_truth(listing.images, truth, place), truth.wnids
    else:
        given = read_truth(labels.expanduser()) if labels is not None else None
        pairs, wnids = _of_folders(rest, listing, given)
    return _source(place, pairs, wnids)


def _place(rest: str, labels: Path | None) -> _Place:
    if not rest:
        raise SourceError(f"The source imagenet needs a path: imagenet:PATH, of {ARCHIVE}, of the folder of JPEGs, or of wnid folders.")
    path = Path(rest).expanduser()
    if not path.exists():
        raise SourceError(
            f"The source imagenet:{rest}: {path} is not there. Expected {ARCHIVE}, a folder of JPEGs, or one of wnid folders."
        )
    path = path.resolve()
    if path.is_dir() and (path / ARCHIVE).is_file() and not any(path.glob("*.JPEG")):
        path = path / ARCHIVE
    if path.is_dir():
        return _folder(path, labels)
    tar = image_tar(path)
    images = [name for name in tar.files if name.lower().endswith((".jpeg", ".jpg"))]
    tops = {name.partition("/")[0] for name in images if "/" in name}
    # `tar cf x.tar val` puts a folder in front that is no class.
    root = f"{tops.pop()}/" if len(tops) == 1 and all("/" in n for n in images) and not any(WNID.fullmatch(t) for t in tops) else ""
    if root and WNID.fullmatch(root[:-1]):
        root = ""
    return _Place(path, tar, list_images(tar, root), root)


def _folder(path: Path, labels: Path | None) -> _Place:
    listed, listing = path, _without_devkit(list_folder(path, ignore=labels))
    if listing.folders == ["val"] and all("/" in image for image in listing.images):
        path = path / "val"
        listing = _without_devkit(list_folder(path, ignore=labels))
    return _Place(path, None, listing, "", listed)


def _without_devkit(listing: Listing) -> Listing:
    """Return a listing without the archives and devkits that lie beside the images."""

    def other(path: str) -> bool:
        top = path.partition("/")[0].lower()
        return "devkit" in top or ("/" not in path and top.endswith((".tar", ".tar.gz", ".tgz")))

    return Listing(
        [f for f in listing.folders if not other(f)],
        [i for i in listing.images if not other(i)],
        [(p, r) for p, r in listing.notes if not other(p)],
    )


def _truth(rest: str, place: _Place, labels: Path | None) -> Truth:
    if labels is not None:
        return read_truth(labels.expanduser().resolve())
    folder = place.path if place.tar is None else place.path.parent
    devkit = find_devkit(folder, folder.parent) if place.tar is None else find_devkit(folder)
    if devkit is None:
        raise SourceError(
            f"The source imagenet:{rest}: {place.path} holds {len(place.listing.images)} images without class folders, so their labels "
            f"must come from elsewhere. Put {WHERE} beside it, or give the devkit or a file of labels with --labels."
        )
    return read_truth(devkit)


def _of_truth(images: Iterable[str], truth: Truth, place: _Place) -> list[tuple[str, str]]:
    """Return (path, wnid) of flat images."""
    images = list(images)
    stems = {path: path.rpartition(".")[0] for path in images}
    odd = [path for path, stem in stems.items() if not VAL.match(stem)]
    if odd:
        raise SourceError(
            f"{place.path} holds {len(odd)} images whose names are not those of ILSVRC2012's validation images "
            f"(ILSVRC2012_val_00000001.JPEG):\n{listed([shown(p) for p in odd], 5)}\nIs it another year's, or another part?"
        )
    lacking = [path for path, stem in stems.items() if stem not in truth.wnid_of]
    if lacking or (truth.complete and len(images) != len(truth.wnid_of)):
        extra = f" {len(lacking)} images have no line in it, {lacking[0]} the first." if lacking else ""
        raise SourceError(
            f"{place.path} holds {len(images)} images, and {truth.path} says the classes of {len(truth.wnid_of)}.{extra} "
            "Both must be of the whole validation set: download what is cut, or give labels for just these images with --labels CSV."
        )
    return [(path, truth.wnid_of[stem]) for path, stem in stems.items()]


def _of_folders(rest: str, listing: Listing, given: Truth | None) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return (path, wnid) of images in wnid folders, and the wnids."""
    odd = [folder for folder in listing.folders if not WNID.fullmatch(folder)]
    if odd:
        raise SourceError(
            f"The source imagenet:{rest} has {len(odd)} folders that are not called by a wnid such as n01440764: "
            f"{', '.join(map(shown, odd[:5]))}. "
            f"Another image folder, or a tar of one, is folder:{rest}."
        )
    filled = {path.partition("/")[0] for path in listing.images}
    listing.notes += [
        (folder + "/", "is a class folder without an image: put its images in, or remove it")
        for folder in listing.folders
        if folder not in filled and not any(path.startswith(folder + "/") for path, _ in listing.notes)
    ]
    pairs = [(path, path.partition("/")[0]) for path in listing.images]
    if given is not None:
        stems = [(path, path.rpartition("/")[2].rpartition(".")[0], wnid) for path, wnid in pairs]
        wrong = [f"{path}: {given.wnid_of.get(stem, 'not named')}" for path, stem, wnid in stems if given.wnid_of.get(stem) != wnid]
        if wrong:
            raise SourceError(f"{len(wrong)} images lie in other folders than {given.path} says:\n{listed(wrong, 10)}\nSort them anew.")
        return pairs, tuple(sorted({*given.wnids, *listing.folders}))
    return pairs, tuple(sorted(listing.folders))


def _source(place: _Place, pairs: list[tuple[str, str]], wnids: tuple[str, ...]) -> FolderSource | TarSource:
    classes = tuple(ClassRecord(index=i, name=wnid, folder=wnid) for i, wnid in enumerate(wnids))
    label_of = {wnid: i for i, wnid in enumerate(wnids)}
    notes = list(place.listing.notes)
    named = []
    for path, wnid in pairs:
        problem = name_problem(path)
        if problem is None:
            named.append((path.rpartition("/")[2].rpartition(".")[0], wnid, path))
        else:
            notes.append((path, problem))
    clashes = _clashes(named)
    notes += sorted(clashes.items())
    kept = sorted((stem, label_of[wnid], path) for stem, wnid, path in named if path not in clashes)
    if not kept:
        raise SourceError(f"No image of {place.path} can be used.{_found(notes)}")
    samples = tuple(Sample(index, stem, label, path) for index, (stem, label, path) in enumerate(kept))
    said = tuple(sorted((shown(path), reason) for path, reason in notes))
    if place.tar is not None:
        return TarSource("imagenet", with_places(samples, place.tar, place.root), classes, said)
    source = FolderSource(place.path, samples, classes, said)
    source.scheme, source.listed = "imagenet", place.listed or place.path
    return source


def _clashes(named: list[tuple[str, str, str]]) -> dict[str, str]:
    if max(Counter(stem.casefold() for stem, _, _ in named).values(), default=0) < 2:
        return {}
    return find_clashes(named)


def _found(notes: Iterable[tuple[str, str]]) -> str:
    lines = listed([f"{shown(path)}: {reason}" for path, reason in sorted(notes)])
    return f" What was found:\n{lines}" if lines else ""
