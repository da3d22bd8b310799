"""Find the shards of a dataset: tars that match a pattern with braces, and Parquet files in a folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from ...errors import SourceError, first_few
from ...files import file_problem
from .image_listing import is_ignored

MAX_SHARDS = 100_000
BRACES = re.compile(r"\{([^{}]*)\}")
RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
NUMBERED = re.compile(r"(?P<split>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})(-[0-9a-f]{16})?")
"""The name of a Hugging Face Parquet file, without its suffix."""
SPLITS = {
    **dict.fromkeys(("test", "testing"), "test"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("train", "training"), "train"),
}
"""A mapping from the names of splits in file names to values of ``--split``."""


def expand_braces(pattern: str) -> list[str]:
    """Expand a pattern such as ``train-{000..127}.tar`` into a list of names.

    Raises
    ------
    SourceError
        The pattern has more than `MAX_SHARDS` names, or its braces are unbalanced.

    Examples
    --------
    >>> expand_braces("a-{08..10}.tar"), expand_braces("{train,val}-{0..1}.tar")
    (['a-08.tar', 'a-09.tar', 'a-10.tar'], ['train-0.tar', 'train-1.tar', 'val-0.tar', 'val-1.tar'])
    """
    parts = BRACES.split(pattern)
    choices = [_choices(part, pattern) if number % 2 else [part] for number, part in enumerate(parts)]
    total = 1
    for options in choices:
        total *= len(options)
    if total > MAX_SHARDS:
        raise SourceError(f"{pattern} stands for {total:,} files, more than {MAX_SHARDS:,}. Use a smaller range.")
    names = ["".join(chosen) for chosen in product(*choices)]
    if any(set("{}") & set(name) for name in names):
        raise SourceError(f"{pattern} has an unmatched brace. Expected a pattern such as 'train-{{000..127}}.tar'.")
    return names


def _choices(inside: str, pattern: str) -> list[str]:
    match = RANGE.fullmatch(inside)
    if match is None:
        return inside.split(",")
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + MAX_SHARDS:
        raise SourceError(
            f"{pattern} has the range {{{inside}}}, which is empty or too long. Write the smaller number first."
        )
    width = len(match[1])
    return [f"{number:0{width}d}" for number in range(first, last + 1)]


def named_shards(pattern: str) -> list[Path]:
    """Return the tars that a pattern or a folder names, in the order of their names.

    Raises
    ------
    SourceError
        A file does not exist or is not a regular file, or a folder contains no tar.
    """
    path = Path(pattern).expanduser()
    if path.is_dir():
        shards = sorted(file for file in path.iterdir() if file.suffix == ".tar" and not is_ignored(file.name))
        if not shards:
            raise SourceError(
                f"The source webdataset:{path} contains no .tar file. Specify the folder that contains the shards."
            )
    else:
        shards = [Path(name).expanduser() for name in expand_braces(pattern)]
    problems = [f"{shard} {problem}" for shard in shards if (problem := file_problem(shard)) is not None]
    if problems:
        raise SourceError(
            f"The source webdataset:{pattern} cannot be used: {first_few(problems, 5)}. Expected tar shards, as a "
            "folder of .tar files or a pattern such as webdataset:'train-{000..127}.tar'. Download the missing shards, "
            "or change the range."
        )
    if twice := [shard for shard, after in zip(sorted(shards), sorted(shards)[1:], strict=False) if shard == after]:
        raise SourceError(f"The source webdataset:{pattern} names {twice[0]} twice. Name every shard once.")
    return [shard.resolve() for shard in shards]


def parquet_shards(path: Path, split: str | None) -> list[tuple[str | None, list[Path]]]:
    """Return the splits of a Parquet file or a folder of Parquet files, each with its files in order.

    Parameters
    ----------
    path : Path
        A file, a folder of files such as ``test-00000-of-00002.parquet``, or a folder with such files in ``data``.
    split : {"test", "val", "train", "all"}, optional
        The split to use. It can be omitted if there is only one split.

    Raises
    ------
    SourceError
        The folder contains no Parquet file, a file of a split is missing, or the requested split does not exist. The
        error is also raised if there are several splits and `split` is omitted.
    """
    if not path.is_dir():
        groups: dict[str | None, list[Path]] = {_split_of(path): [path]}
    else:
        groups = _group_by_split(path)
    known = [name for name in ("test", "val", "train") if name in groups]
    if split is None and len(groups) == 1:
        chosen = list(groups)
    elif split == "all" and known:
        chosen = list(known)
    elif split in groups:
        chosen = [split]
    elif split is not None and not known and len(groups) == 1:  # the names do not say which split it is
        groups[split] = groups.popitem()[1]
        chosen = [split]
    else:
        raise SourceError(
            f"The source parquet:{path} has the splits {', '.join(sorted(map(str, groups)))}. Choose one with --split "
            "(test, val, train or all), or specify one file."
        )
    for name in chosen:
        if path.is_dir():
            _refuse_missing(groups[name], path)
    return [(name if name in SPLITS.values() else None, groups[name]) for name in chosen]


def _group_by_split(path: Path) -> dict[str | None, list[Path]]:
    """Return a mapping from splits to the sorted files of a folder.

    The key of an unknown split is the beginning of the file names, or None.
    """
    files = _parquet_files(path) or _parquet_files(path / "data")
    if not files:
        inside = sorted({str(file.parent.relative_to(path)) for file in path.glob("*/*.parquet")})
        where = f" These folders in it do: {first_few(inside)}. Specify one of them." if inside else ""
        raise SourceError(f"The source parquet:{path} contains no .parquet file.{where}")
    groups: Mapping[str | None, list[Path]] = defaultdict(list)
    for file in files:
        groups[_split_of(file)].append(file)
    return dict(groups)


def _parquet_files(folder: Path) -> Sequence[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if file.suffix == ".parquet" and not is_ignored(file.name))


def _split_of(file: Path) -> str | None:
    match = NUMBERED.fullmatch(file.stem)
    name = match["split"] if match else file.stem
    return SPLITS.get(name.lower(), name if match else None)


def _refuse_missing(files: Sequence[Path], path: Path) -> None:
    """Raise `SourceError` if file names such as ``test-00000-of-00002`` show that files are missing."""
    if missing := list(_missing(files)):
        raise SourceError(
            f"The source parquet:{path} has only a part of the files: {first_few(missing)} is missing. Download it."
        )


def _missing(files: Sequence[Path]) -> Iterator[str]:
    matches = [match for file in files if (match := NUMBERED.fullmatch(file.stem))]
    if matches:
        count, numbers = int(matches[0]["count"]), {int(match["number"]) for match in matches}
        for number in range(count):
            if number not in numbers:
                yield f"{matches[0]['split']}-{number:05d}-of-{count:05d}.parquet"
