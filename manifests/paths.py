"""The paths of the files in a dataset, and of the bookkeeping files that exist while a dataset is written."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .records.fields import safe_path
from .records.models import Manifest

MANIFEST = "manifest.json"
SAMPLES = "samples.jsonl"
STREAM = "stream.json"
"""The file that a stream of changing corruptions has instead of a manifest. The package corruptset-streams writes this
file.
"""
REGIONS = "regions.jsonl"
"""The list of regions, in a dataset that stores whole images instead of their regions."""
SHA256SUMS = "SHA256SUMS"
README = "README.md"
LICENSE = "LICENSE"
CONTACT = "contact.png"
"""The contact sheet, which shows the first sample in every set."""
PAGE = "index.html"
"""The page of the dataset, which shows some images of every set."""
PARTIAL = "PARTIAL.json"
"""A file that a dataset contains until all of its archives are unpacked."""

IMAGES = "images/"
SHARDS = "hdf5/"
SETS = "sets/"

UNFINISHED = ".partial"
"""The suffix of the folder in which a dataset is built. The folder is renamed when the dataset is finished."""

WORK_FOLDER = ".corruptset"
BUILD = f"{WORK_FOLDER}/build.json"
PARTS_FOLDER = f"{WORK_FOLDER}/parts"
WORKERS_LOCK = f"{WORK_FOLDER}/workers"
"""The lock that the workers of a build share."""
BEGIN_LOCK = f"{WORK_FOLDER}/begin"
"""The lock that an array job holds while it begins or joins a build."""
CHECK_FOLDER = f"{WORK_FOLDER}/check"
"""The results of array jobs that checked the source."""
ARRAYS_FOLDER = f"{WORK_FOLDER}/arrays"
"""A folder with an empty file for each job array. The name of the file is the number of jobs in the array."""
LEASES = ".lease-*.part"
"""Files from which the workers of a running build read their job. They are in the work folder. A worker stops when its
file is gone.
"""
SOURCE = f"{WORK_FOLDER}/source.json"
"""The samples of a build. If the source changes, the error message names the changed samples."""
BASE = f"{WORK_FOLDER}/base.json"
"""The manifest of the dataset that a build extends."""
SCRATCH = f"{WORK_FOLDER}/repair"
"""The folder in which a repair creates files."""
UNPACK_STATE = f"{WORK_FOLDER}/unpack.json"
"""A file that exists while archives are unpacked."""

_RESERVED = {
    *(MANIFEST, SAMPLES, STREAM, REGIONS, SHA256SUMS, README, LICENSE, CONTACT, PAGE, PARTIAL),
    *(IMAGES[:-1], SHARDS[:-1], SETS[:-1], "archives"),
}
_RESERVED_FOLDED = {name.casefold() for name in _RESERVED}

_ROWS = re.compile(r"sets/(.+)\.jsonl")
_SHARD = re.compile(r"hdf5/(.+)-[0-9]{5,}\.h5")


def set_path(set_id: str) -> str:
    """Return the path of the records of a set: ``sets/<set id>.jsonl``."""
    return f"{SETS}{set_id}.jsonl"


def image_folder(set_id: str) -> str:
    """Return the folder with the image files of a set: ``images/<set id>``."""
    return f"{IMAGES}{set_id}"


def shard_path(set_id: str, chunk: int) -> str:
    """Return the path of the shard of a chunk of samples: ``hdf5/<set id>-<chunk, five digits>.h5``."""
    return f"{SHARDS}{set_id}-{chunk:05d}.h5"


def set_of_rows(path: str) -> str | None:
    """Return the id of the set whose records are at a path, or None for any other file."""
    match = _ROWS.fullmatch(path)
    return None if match is None else match[1]


def set_of_shard(path: str) -> str | None:
    """Return the id of the set to which a shard belongs, or None for any other file."""
    match = _SHARD.fullmatch(path)
    return None if match is None else match[1]


def with_name(directory: Path) -> Path:
    """Return a path that ends with the name of the folder. For example, ``.`` becomes an absolute path."""
    return directory if directory.name not in ("", "..") else Path(os.path.abspath(directory))


def unfinished_folder(directory: Path) -> Path:
    """Return the folder in which the dataset of a directory is built: ``<name>-<version>.partial``, next to it."""
    directory = with_name(directory)
    return directory.parent / f"{directory.name}{UNFINISHED}"


def lock_file(directory: Path) -> Path:
    """Return the lock file of a folder, such as an unfinished dataset.

    A command holds the lock while it writes into the folder. The file is next to the folder, because the folder of an
    unfinished dataset is renamed and may be deleted.
    """
    directory = with_name(directory)
    return directory.parent / f".{directory.name.removesuffix(UNFINISHED)}.lock"


def is_begun(directory: Path) -> bool:
    """Return whether a build was started in a directory. An empty `.corruptset/` does not count."""
    return (directory / BUILD).exists() or (directory / PARTS_FOLDER).is_dir()


def is_reserved_path(path: str) -> bool:
    """Return whether a path begins with a name that is reserved for files of a dataset, ignoring case."""
    return path.partition("/")[0].casefold() in _RESERVED_FOLDED


def has_region_table(manifest: Manifest) -> bool:
    """Return whether a dataset stores whole images and lists their regions in regions.jsonl."""
    return any(file.path == REGIONS for file in manifest.files)


def keeps_source_names(manifest: Manifest) -> bool:
    """Return whether images keep their paths from the source. They do so if the dataset has no classes."""
    return not manifest.classes


def moved_content(manifest: Manifest) -> list[str]:
    """Return the corruptions that move content, if the images may have annotations with positions, such as boxes."""
    used, moving = {stage.corruption for s in manifest.sets for stage in s.stages}, manifest.recipe.get("moves_content")
    return sorted(name for name in used if isinstance(moving, list) and name in moving)


def is_path(path: str) -> bool:
    """Return whether a path is relative and stays inside its directory."""
    try:
        return bool(safe_path(path))
    except ValueError:
        return False
