"""A packed release, checked, and its files at a place: plain, the hub, a Zenodo record."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ...errors import IncompleteBuild, ReleaseError, VerificationError, listed
from ...files import read_regular
from ..checksums import is_file_as, parse_sha256sums, sums_bytes
from ..layout import MANIFEST, PAGE, README, SAMPLES, SHA256SUMS, WORK_FOLDER
from ..records.digests import sha256_bytes
from ..records.models import Manifest
from ..release.archives import CHUNK, read_members
from ..release.bag import INDEX, INDEX_CAP, PAYLOAD, ReleaseIndex, indexed_files, parse_index, title
from ..release.contents import read_heads, top_folder
from ..release.croissant import CROISSANT, TABLE
from ..release.parquet import PARQUET, configurations, parquet_files

LayoutName = Literal["plain", "huggingface", "zenodo"]
LAYOUTS: tuple[LayoutName, ...] = get_args(LayoutName)
TAG_SUMS = "tagmanifest-sha256.txt"
ZENODO_BYTES = 50_000_000_000
"""What a Zenodo record takes without a raised quota."""
ZENODO_COUNT = 100
"""Files that it takes."""
KEYWORDS = ("corruptset", "robustness", "benchmark", "image corruptions", "image classification")
SIZES = (
    *("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M"),
    *("10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B", "100B<n<1T"),
)
"""The hub's words for how many images there are: by the digits of the number, up to three first."""
_PAGE_CAP = 64 << 20
_TEXT_CAP = 1 << 30
"""Bytes of a small file; the table of a million samples has some 400 MB."""


Content = bytes | Path


@dataclass(frozen=True)
class PublishedFile:
    """A file at its place: path, record, and its bytes or the file that has them."""

    path: str
    bytes: int
    sha256: str
    content: Content


def chunks_of(file: PublishedFile) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    if isinstance(file.content, bytes):
        yield file.content
        return
    with file.content.open("rb") as opened:
        while chunk := opened.read(CHUNK):
            yield chunk


@dataclass(frozen=True)
class ReleaseFolder:
    """A release on this disk.

    Attributes
    ----------
    path : Path
    index : ReleaseIndex
    manifest : Manifest
        That of the data set.
    texts : dict
        Path -> bytes of all files but archives and the index; with the data set's page, where it is in an archive.
    """

    path: Path
    index: ReleaseIndex
    manifest: Manifest
    texts: dict[str, bytes]

    def files(self, texts: dict[str, bytes], *, flat: bool = False) -> list[PublishedFile]:
        """Return archives, texts and, last, their index; `flat`: all in one folder."""
        archives = [a.model_copy(update={"path": a.name}) for a in self.index.archives] if flat else self.index.archives
        index = self.index.model_copy(update={"files": indexed_files(texts), "archives": archives})
        large = [
            PublishedFile(a.path, a.bytes, a.sha256, self.path / b.path)
            for a, b in zip(archives, self.index.archives, strict=True)
        ]
        return [*large, *(_text(path, data) for path, data in sorted(texts.items())), _text(INDEX, index.encode())]


def open_release_folder(directory: Path | str) -> ReleaseFolder:
    """Read a folder that `pack` wrote, or raise what `publish` does; the archives' sizes are compared, their bytes are
    not read.
    """
    root = Path(directory)
    if (root / MANIFEST).exists():
        packed = f"{str(root).rstrip('/')}-release"
        raise ReleaseError(
            f"{root} is a data set that was not packed. Pack it first:\n  corruptset pack {root} --out {packed}"
        )
    if (root / WORK_FOLDER).exists() or ((root / INDEX).exists() and not (root / SHA256SUMS).exists()):
        raise IncompleteBuild(f"{root} holds an interrupted pack. Finish it with the same `corruptset pack` command.")
    if not (root / INDEX).is_file():
        raise ReleaseError(
            f"{root} has no {INDEX}, so it is not a folder that `corruptset pack` wrote. Name that folder, or pack "
            "again."
        )
    index = parse_index(read_regular(root / INDEX, INDEX_CAP), str(root / INDEX))
    small = [f for f in index.files if not is_file_as(root / f.path, f.bytes, f.sha256)]
    large = [a for a in index.archives if not (root / a.path).is_file() or (root / a.path).stat().st_size != a.bytes]
    problems = [
        f"{f.path} is missing, or was changed after the pack: recorded are {f.bytes} bytes" for f in (*small, *large)
    ]
    if problems:
        raise VerificationError(
            f"{root} is not what its {INDEX} says:\n{listed(problems)}\nPack the data set again, to another --out."
        )
    records = root / index.archives[-1].path
    manifest = read_heads([records])[1].manifest
    if manifest.digest != index.digest:
        raise VerificationError(
            f"{root / INDEX} names {index.digest}; the archives are of {manifest.digest}. Pack again."
        )
    texts = {f.path: read_regular(root / f.path, _TEXT_CAP) for f in index.files}
    for member in read_members(records):
        if member.name == f"{top_folder(manifest)}/{PAGE}":
            texts[PAGE] = member.read(_PAGE_CAP)
    return ReleaseFolder(root, index, manifest, texts)


def published_files(
    release: ReleaseFolder,
    layout: LayoutName,
    *,
    creators: Sequence[str],
    license: str | None,
    url: str | None,
    date: str | None,
) -> list[PublishedFile]:
    """Return the files of a layout in the order in which they are sent; ReleaseError: it needs creators or a
    licence.
    """
    document = json.loads(release.texts[CROISSANT])
    base = f"{url.rstrip('/')}/" if url else ""
    paths = {a.name: a.name if layout == "zenodo" else a.path for a in release.index.archives}
    for file in document["distribution"]:
        if "contentUrl" in file:
            file["contentUrl"] = base + paths.get(file["name"], file["name"])
    document |= {
        key: value
        for key, value in {"url": url, "license": license, "datePublished": date}.items()
        if value is not None
    }
    texts = {**release.texts, CROISSANT: _json(document)}
    if layout == "zenodo":
        return _zenodo(release, texts, creators, license)
    if layout == "huggingface":
        parquet = parquet_files(release.path)
        pictures = [PublishedFile(f.path, f.bytes, f.sha256, release.path / f.path) for f in parquet]
        configs = (
            configurations(release.manifest, parquet)
            if parquet
            else [{"config_name": "samples", "data_files": SAMPLES}]
        )
        return [*pictures, *release.files(_tagged({**texts, **_hub_texts(release, license, configs)}))]
    return release.files(_tagged(texts))


def _tagged(texts: dict[str, bytes]) -> dict[str, bytes]:
    """Return the texts with BagIt's hashes of them, where the release has any."""
    tagged, _ = parse_sha256sums(texts.get(TAG_SUMS, b""))
    return {**texts, TAG_SUMS: sums_bytes({path: sha256_bytes(texts[path]) for path in tagged})} if tagged else texts


def _text(path: str, data: bytes) -> PublishedFile:
    return PublishedFile(path, len(data), sha256_bytes(data), data)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _hub_texts(release: ReleaseFolder, license: str | None, configs: list[dict[str, Any]]) -> dict[str, bytes]:
    """Return README.md with the hub's metadata, and the table of samples as lines."""
    head: dict[str, Any] = {
        "pretty_name": title(release.manifest),
        "license": (license or "other").lower(),
        "task_categories": ["image-classification"],
        "tags": [k.replace(" ", "-") for k in KEYWORDS],
        "size_categories": [SIZES[max(0, len(str(sum(s.count for s in release.manifest.sets))) - 3)]],
        # all configurations are of one format; tars are read as WebDataset only, with all files of a sample beside each
        # other
        "configs": configs,
    }
    table: dict[str, list[Any]] = json.loads(release.texts[TABLE])
    rows = [
        json.dumps(dict(zip(table, row, strict=True)), ensure_ascii=False) for row in zip(*table.values(), strict=True)
    ]
    # each JSON value is YAML
    yaml = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items())
    # of a release from the hub
    card = re.sub(rb"\A---\n.*?^---\n\n", b"", release.texts[README], flags=re.DOTALL | re.MULTILINE)
    return {README: f"---\n{yaml}---\n\n".encode() + card, SAMPLES: "\n".join([*rows, ""]).encode()}


def _zenodo(
    release: ReleaseFolder, texts: dict[str, bytes], creators: Sequence[str], license: str | None
) -> list[PublishedFile]:
    m = release.manifest
    if not creators or license is None:
        raise ReleaseError(
            "A Zenodo record names its creators and a licence, which a data set does not know: give --creator "
            "'Family, Given; Affiliation' (once for each) and --license with an SPDX id such as cc-by-4.0. The "
            f"licence recorded of the source is: {m.source.license or 'none'}."
        )
    # a record has no folders, so it is no bag, and what names an archive names it without one
    flat = {
        path: data
        for path, data in texts.items()
        if path not in ("bagit.txt", "bag-info.txt", "manifest-sha256.txt", TAG_SUMS)
    }
    for start in (f"{release.index.folder}-", "*."):
        flat[README] = flat[README].replace(f"{PAYLOAD}/{start}".encode(), start.encode())
    flat[README] = flat[README].replace(b"The folder is a BagIt bag; ", b"")
    flat[SHA256SUMS] = sums_bytes({a.name: a.sha256 for a in release.index.archives})
    files = [PublishedFile(f"files/{f.path}", f.bytes, f.sha256, f.content) for f in release.files(flat, flat=True)]
    lines = [
        str(m.recipe.get("description") or title(m)),
        f"{len(m.sets)} sets of corrupted images, {sum(s.count for s in m.sets)} images in {len(m.classes)} classes, "
        "made by corruptset.",
        f"Digest, which is the benchmark's name on every machine: {m.digest}",
        "README.md says how the files are checked and loaded.",
    ]
    named = [[part.strip() for part in given.split(";", 1) if part.strip()] for given in creators]
    metadata = {
        "upload_type": "dataset",
        "title": f"{title(m)} ({m.name} {m.version})",
        "creators": [dict(zip(("name", "affiliation"), parts, strict=False)) for parts in named],
        "description": "".join(f"<p>{html.escape(' '.join(line.split()))}</p>" for line in lines),
        "access_right": "open",
        "license": license.lower(),
        "keywords": list(KEYWORDS),
        "version": m.version,
        "language": "eng",
    }
    return [_text("zenodo.json", _json({"metadata": metadata})), *files]


def limit_notes(files: Sequence[PublishedFile], layout: LayoutName) -> list[str]:
    """Return what a person should know of a place's limits."""
    count, total = len(files) - 1, sum(f.bytes for f in files[1:])
    notes = {
        "load_dataset gives no images of this release, only the table of samples: pack with --parquet for them.": (
            layout == "huggingface" and not any(f.path.startswith(PARQUET) for f in files)
        ),
        f"{total:,} bytes are more than the {ZENODO_BYTES:,} that Zenodo takes in a record: ask it for a higher quota "
        "first.": layout == "zenodo" and total > ZENODO_BYTES,
        f"{count} files are more than the {ZENODO_COUNT} that Zenodo takes in a record: pack with --by family.": (
            layout == "zenodo" and count > ZENODO_COUNT
        ),
    }
    return [note for note, holds in notes.items() if holds]
