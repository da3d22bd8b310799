"""The files of a data set as bytes: atomic writes, JSON lines, manifest.json and SHA256SUMS.

Everything that is read back is held to the models strictly (no `"5"` for 5) and to size caps, because a data set may come from anywhere.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ...errors import IncompleteBuild, VerificationError, listed
from ...files import open_regular
from ..records.models import SCHEMA_VERSION, FileRecord, Manifest, Record
from ..records.parsing import manifest_or_mistakes, record_or_mistakes

MANIFEST = "manifest.json"
SAMPLES = "samples.jsonl"
SHA256SUMS = "SHA256SUMS"
WORK_FOLDER = ".corruptset"
BUILD = f"{WORK_FOLDER}/build.json"
PARTS_FOLDER = f"{WORK_FOLDER}/parts"
FINISH = f"{WORK_FOLDER}/finish.json"
"""Stands while the last files of a build take their places."""

MANIFEST_CAP = 512 << 20
"""Bytes: a manifest of 10,000 sets and 100,000 shards has about 40 MB."""
LINE_CAP = 1 << 20
"""Bytes of one row of a JSON lines file; real ones have a few hundred."""
SUMS_CAP = 256 << 20

R = TypeVar("R", bound=Record)

_SUM = re.compile(r"([0-9a-f]{64})  (\S.*)")


def set_path(set_id: str) -> str:
    """Return where a set's rows are: ``sets/<set id>.jsonl``."""
    return f"sets/{set_id}.jsonl"


def inside(root: Path, path: str) -> Path:
    """Return where a file of a data set lies.

    Parameters
    ----------
    root : Path
        The data set.
    path : str
        Relative and POSIX, held to `safe_path`.

    Raises
    ------
    VerificationError
        A symbolic link on the way leads out of the data set: whoever made it would choose what is read.
    """
    here = os.fspath(root)
    for part in path.split("/"):
        here = os.path.join(here, part)
        if os.path.islink(here):
            top = os.path.realpath(root)
            if os.path.commonpath([os.path.realpath(root / path), top]) != top:
                raise VerificationError(
                    f"{here} is a symbolic link that leads out of the data set; it is not followed. Put the file there."
                )
    return root / path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name (``.<random>.part``) in the same folder; what stands there takes the place of `path` in one step.

    If anything is raised, the temporary file is removed, and nothing stands at `path` that did not stand there before. Whoever writes the
    file waits until it is on disk.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        yield part
        os.replace(part, path)
    except BaseException as e:
        part.unlink(missing_ok=True)
        name_target(e, part, path)
        raise
    fsync_folder(path.parent)


def name_target(error: BaseException, part: Path, target: Path) -> None:
    """Have an error of the system name `target`, where it names no file, as Python's writes do, or one of the temporary `part`."""
    if isinstance(error, OSError) and (error.filename is None or os.fsdecode(error.filename).startswith(os.fspath(part))):
        error.filename = os.fspath(target)


def write_atomic(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file, given in one piece or several, so that it is there whole or not at all, also after a power cut.

    The bytes go to a temporary name in the same folder, are fsynced, and take the place of `path` in one step; the permissions follow the
    umask, as those of any other file do. Files of some megabytes are rather for `large.write_large`.

    Raises
    ------
    OSError
        The disk is full or fails; nothing stands at `path` that did not stand there before, and the temporary file is removed.
    """
    with replacing(path) as part:
        # os.open applies the umask; mkstemp would make a file that nobody else on a shared file system may read
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(fd, "wb") as f:
            f.writelines(pieces)
            f.flush()
            os.fsync(f.fileno())


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable (where the system lets a folder be opened)."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def json_line(record: Record) -> bytes:
    """Return a record as one line of JSON, fields in the model's order, UTF-8."""
    return json.dumps(record.as_json(), ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode() + b"\n"


def write_jsonl(path: Path, records: Iterable[Record]) -> None:
    """Write records, one a line, atomically; the folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, b"".join(map(json_line, records)))


class BadLine(ValueError):
    """A row of a JSON lines file that is not a record; `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


def scan_jsonl(path: Path, model: type[R]) -> Iterator[R | BadLine]:
    """Yield a record or a BadLine for every line, never more than LINE_CAP bytes in memory.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    with open_regular(path) as f:
        number = 0
        while line := f.readline(LINE_CAP):
            number += 1
            if not line.endswith(b"\n"):
                cut = "is longer than any row is" if len(line) == LINE_CAP else "does not end: the file is cut off"
                yield BadLine(number, cut)
                return
            record, mistakes = record_or_mistakes(model, line)
            yield BadLine(number, "; ".join(mistakes)) if record is None else record


def read_jsonl(path: Path, model: type[R]) -> Iterator[R]:
    """Yield the records of a JSON lines file.

    Raises
    ------
    VerificationError
        The file is missing or a line is not a record of this kind; says which line and field.
    """
    try:
        for record in scan_jsonl(path, model):
            if isinstance(record, BadLine):
                raise VerificationError(f"{path}: {record}. Run `corruptset verify` on the data set for everything that is wrong.")
            yield record
    except OSError as e:
        raise VerificationError(f"{path}: cannot be read ({e.strerror}). Run `corruptset verify` on the data set.") from e


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return manifest.json: fields in the model's order, two spaces of indent, UTF-8, a newline at the end.

    Equal manifests have equal bytes: the parts that have no order of their own (recipe, parameters, selection ...) are sorted by key.
    """
    value = {key: _sorted(part) if isinstance(part, dict) else part for key, part in manifest.as_json().items()}
    value["sets"] = [{**s, "stages": [{**t, "parameters": _sorted(t["parameters"])} for t in s["stages"]]} for s in value["sets"]]
    value["views"] = [_sorted(v) for v in value["views"]]
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(v) for v in value] if isinstance(value, list) else value


def parse_manifest(data: bytes, where: str | Path = MANIFEST) -> Manifest:
    """Return a manifest from its bytes, held to the models.

    Raises
    ------
    VerificationError
        Lists every field that is wrong.
    """
    manifest, mistakes = manifest_or_mistakes(data)
    if manifest is None:
        raise VerificationError(f"{where} does not follow schema {SCHEMA_VERSION}:\n{listed(mistakes)}")
    return manifest


def is_begun(directory: Path) -> bool:
    """Return whether a build was begun in a directory; an empty `.corruptset/` makes none."""
    return (directory / BUILD).exists() or (directory / PARTS_FOLDER).is_dir()


def incomplete(directory: Path) -> str:
    """Return what to say of a directory without manifest.json, with the next step."""
    if (directory / WORK_FOLDER / "unpack.json").exists():
        return (
            f"{directory} was not unpacked to the end: it has no {MANIFEST} yet. Run the same `corruptset unpack` command again; what is "
            "there is kept."
        )
    if is_begun(directory):
        return (
            f"{directory} is an incomplete build: it has no {MANIFEST} yet. Resume it by running the same `corruptset build` command "
            f"again (same recipe, source, seed and --out {directory.parent}); what is committed is kept."
        )
    if not directory.exists():
        return f"{directory} does not exist. Give the directory that a build wrote, <out>/<name>-<version>."
    inner = sorted(p.parent.name for p in directory.glob(f"*/{MANIFEST}"))[:3] if directory.is_dir() else []
    hint = f" Perhaps {directory / inner[0]} was meant." if inner else ""
    return f"{directory} has no {MANIFEST}: an incomplete build or not a corruptset data set.{hint} Resume a build with its own command."


def load_manifest(directory: Path | str) -> Manifest:
    """Return the manifest of a data set.

    Raises
    ------
    IncompleteBuild
        There is no manifest.json; says how to resume.
    VerificationError
        It is not a manifest; lists every field that is wrong.
    """
    directory = Path(directory)
    path = directory / MANIFEST
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise VerificationError(f"{path} is not a regular file.")
        if info.st_size > MANIFEST_CAP:
            raise VerificationError(f"{path} has {info.st_size} bytes; a manifest has at most {MANIFEST_CAP}.")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as e:
        raise IncompleteBuild(incomplete(directory)) from e
    except OSError as e:
        raise VerificationError(f"{path} cannot be read: {e.strerror}.") from e
    return parse_manifest(data, path)


def sha256sums_bytes(records: Iterable[FileRecord]) -> bytes:
    """Return SHA256SUMS, as ``sha256sum --check`` reads it: ``<hex>  <path>`` a line, sorted by path.

    Give every file but single images and SHA256SUMS itself: the manifest's `files` and manifest.json.
    """
    lines = [f"{r.sha256.removeprefix('sha256:')}  {r.path}\n" for r in sorted(records, key=lambda r: r.path)]
    return "".join(lines).encode()


def parse_sha256sums(data: bytes) -> tuple[dict[str, str], list[str]]:
    """Return path -> ``sha256:<hex>`` and what is wrong with lines that are not of that form."""
    sums: dict[str, str] = {}
    mistakes: list[str] = []
    if data and not data.endswith(b"\n"):
        mistakes.append("the last line does not end: the file is cut off")
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        match = _SUM.fullmatch(line.decode("utf-8", "replace"))
        if match is None:
            mistakes.append(f"line {number} is not '<64 hexadecimal digits>  <path>'")
        elif match[2] in sums:
            mistakes.append(f"line {number} names {match[2]} a second time")
        else:
            sums[match[2]] = "sha256:" + match[1]
    return sums, mistakes


def read_sha256sums(directory: Path) -> dict[str, str]:
    """Return path -> ``sha256:<hex>`` of a data set's SHA256SUMS.

    Raises
    ------
    VerificationError
        The file is missing or has lines of another form.
    """
    path = directory / SHA256SUMS
    try:
        sums, mistakes = parse_sha256sums(path.read_bytes())
    except OSError as e:
        raise VerificationError(f"{path} cannot be read: {e.strerror}.") from e
    if mistakes:
        raise VerificationError(f"{path}:\n{listed(mistakes)}")
    return sums
