"""The sources ``folder:PATH`` and ``tree:PATH``: images in folders.

A ``folder`` source is a folder with one sub-folder per class, a tree of images with a CSV of labels, or a tar of
either. Without a CSV, the first component of an image's path is its class, and `class_list` numbers the folders.
Classes are numbered before any image is checked, so leaving out bad images does not change labels.

A ``tree`` source has no labels. Every image keeps its path, its name and its format, and every other file is copied to
the same path in the dataset.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ...errors import SourceError, first_few
from ...manifests.paths import is_reserved_path
from ...quantities import plural
from .class_list import number_folders
from .folder_layouts import notes_on_one_class, refuse_other_layouts
from .image_listing import KEPT_SUFFIXES, ImageListing, has_kept_suffix, list_images
from .labels import (
    find_invalid_names,
    missing_row_message,
    nfc,
    read_groups,
    read_labels,
    sample_id,
)
from .mask_images import matches_pattern, refuse_masks
from .source import Source
from .tar_archives import looks_like_tar

OTHER_FORMAT = (
    f"has none of the suffixes {', '.join(KEPT_SUFFIXES)}, but images keep their names and are stored as JPEG or PNG. "
    "Convert it, or exclude it: --images PATTERN selects the images, and all other files are copied unchanged"
)


def open(path: Path, *, labels: str | None = None, groups: str | None = None) -> Source:
    """List an image folder, or a tar of an image folder, without reading the images.

    Parameters
    ----------
    path : Path
        The folder, or an uncompressed tar of it.
    labels : path, optional
        A CSV with the columns ``file,label``. The names of folders are then ignored.
    groups : path, optional
        A CSV with the columns ``file,group``.

    Raises
    ------
    SourceError
        The path contains no images or no class folders, or a CSV contains errors. The message lists all errors.
    """
    if not path.is_dir() and not looks_like_tar(path):
        raise SourceError(
            f"The source folder:{path} is a file, not a folder. Expected a folder with one sub-folder per class."
        )
    csv = None if labels is None else Path(labels).expanduser()
    listing = list_classes(path) if csv is None else list_images(path, lambda name: path / name == csv.resolve())
    if csv is None:
        refuse_other_layouts(listing)
    if groups is not None:
        listing.groups = read_groups(Path(groups), listing.images)
    if csv is None:
        source = class_source(listing)
        source.remarks += tuple(notes_on_one_class(listing))
        return source
    label_of, remarks = read_labels(csv, listing.images)
    listing.remarks += remarks
    listing.notes += [(image, missing_row_message(csv)) for image in listing.images if image not in label_of]
    return listing.source("folder", label_of, sample_id)


def list_classes(path: Path) -> ImageListing:
    """List the images in class folders, or in a tar of class folders.

    In a tar, the class folders may be inside a common folder.
    """
    return list_images(path, is_wrapper=lambda image: image.count("/") >= 2)


def class_source(listing: ImageListing) -> Source:
    """Return the source for a listing of class folders."""
    folder_of = {image: image.partition("/")[0] for image in listing.images if "/" in image}
    loose = [image for image in listing.images if image not in folder_of]
    if not listing.folders and loose:
        raise listing.error(
            f"has no class folders; its {len(loose)} images are all in one folder: give their labels with --labels CSV "
            "(columns file,label), or sort them into class folders"
        )
    if not folder_of:
        where = f" in its {len(listing.folders)} class folders" if listing.folders else ""
        raise listing.error(f"contains no image{where}: expected one folder per class, with images in it")
    listing.notes += [
        (image, "is outside the class folders: move it into one, or give labels for all images with --labels CSV")
        for image in loose
    ]
    known = number_folders(listing.folders)
    images_in = Counter(folder_of.values())
    listing.notes += [
        (f"{folder}/", f"{problem} ({plural(images_in[folder], 'image')} in it left out)")
        for folder, problem in known.invalid.items()
    ]
    listing.remarks += known.remarks
    label_of = {image: known.label_of[folder] for image, folder in folder_of.items() if folder not in known.invalid}
    source = listing.source("folder", label_of, sample_id, classes=known.classes)
    return listing.with_empty_folders(source)


def open_tree(path: Path, *, images: str | None = None) -> Source:
    """List a tree of images. The id of an image is its path, including the suffix.

    Parameters
    ----------
    path : Path
        The folder.
    images : str, optional
        A shell pattern for paths, such as ``val2017/*.jpg``, that selects the images. The case of the suffix does not
        matter. By default, all files with an image suffix are selected.

    Raises
    ------
    SourceError
        The path is not a folder or contains no image. The error is also raised if some images look like masks and
        `images` is not given.
    """
    if not path.is_dir():
        raise SourceError(
            f"The source tree:{path} is a file, not a folder. Expected a folder with images in it, at any depth."
        )
    listing = list_images(path)
    files = set(listing.files)
    listing.notes = [(file, reason) for file, reason in listing.notes if file not in files]
    chosen = listing.images if images is None else [file for file in listing.files if matches_pattern(file, images)]
    if not chosen:
        examples = f" It contains these images: {first_few(listing.images)}" if listing.images else ""
        unmatched = "" if images is None else f" that --images {images!r} matches.{examples}"
        raise listing.error(f"contains no image{unmatched}")
    kept = [file for file in chosen if has_kept_suffix(file)]
    remarks = refuse_masks(path, kept, listing.files) if images is None else ()
    listing.notes += [(file, OTHER_FORMAT) for file in chosen if not has_kept_suffix(file)]
    others = sorted(files.difference(chosen))
    invalid = find_invalid_names(others)
    for file in others:
        if ":" in file.partition("/")[0]:
            invalid.setdefault(file, "has a colon in the first part of its path, like a drive on Windows: rename it")
    listing.notes += invalid.items()
    source = listing.source("tree", dict.fromkeys(kept), nfc)
    source.pattern, source.remarks = images, remarks
    source.uncopied_files = tuple(filter(is_reserved_path, others))
    source.other_files = {file: path / file for file in others if file not in invalid and not is_reserved_path(file)}
    return source
