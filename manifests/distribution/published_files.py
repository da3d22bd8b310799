"""Read a packed release, and arrange its files for a destination: a folder or store, the Hub, or Zenodo."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.resources import files as resources
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, get_args

from ...errors import IncompleteBuild, ReleaseError, VerificationError, first_few, format_list
from ...files import read_regular
from ..checksums import is_file_as, parse_sha256sums, sums_bytes
from ..paths import MANIFEST, PAGE, README, SAMPLES, SHA256SUMS, WORK_FOLDER
from ..records.digests import sha256_bytes
from ..records.markdown import one_line, render_card
from ..records.models import Manifest
from ..release.archive_contents import read_heads, top_folder
from ..release.archives import CHUNK, read_members
from ..release.bag import (
    INDEX,
    INDEX_CAP,
    PAYLOAD,
    TAG_SUMS,
    IndexedFile,
    ReleaseIndex,
    indexed_files,
    parse_index,
    tag_sums,
    title,
)
from ..release.croissant import CROISSANT, TABLE
from ..release.parquet import PARQUET, configurations, parquet_files

ReleaseLayout = Literal["plain", "huggingface", "zenodo"]
RELEASE_LAYOUTS: tuple[ReleaseLayout, ...] = get_args(ReleaseLayout)
ZENODO_BYTES = 50_000_000_000
"""Size limit of a Zenodo record in bytes, unless the quota is raised."""
ZENODO_COUNT = 100
"""Limit on the number of files in a Zenodo record."""
KEYWORDS = ("corruptset", "robustness", "benchmark", "image corruptions", "image classification")
HUB_SIZE_CATEGORIES = (
    *("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M"),
    *("10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B", "100B<n<1T"),
)
"""The Hub's categories for the number of images. The first category is for numbers with up to three digits. Each later
category is for numbers with one more digit.
"""
_TEXT_CAP = 1 << 30
"""Limit on the size of a text file in bytes. The table of a million samples has about 400 MB."""


Content = bytes | Path


@dataclass(frozen=True)
class PublishedFile:
    """A file at the destination, with its content or the local file that contains it."""

    path: str
    bytes: int
    sha256: str
    content: Content


def chunks_of(content: Content) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    with BytesIO(content) if isinstance(content, bytes) else content.open("rb") as opened:
        yield from iter(partial(opened.read, CHUNK), b"")


@dataclass(frozen=True)
class ReleaseFolder:
    """A release in a local folder.

    Attributes
    ----------
    path : Path
        The folder.
    index : ReleaseIndex
        The content of archives.json.
    manifest : Manifest
        The manifest of the dataset.
    texts : dict
        Path -> bytes, for all files except archives and the index. The page of the dataset is included if an archive
        contains it.
    """

    path: Path
    index: ReleaseIndex
    manifest: Manifest
    texts: dict[str, bytes]


def open_release_folder(directory: Path | str) -> ReleaseFolder:
    """Read a folder that `pack` wrote, and check the sizes of its archives.

    The errors are the same as for `publish`.
    """
    root = Path(directory)
    if (root / MANIFEST).exists():
        packed = f"{str(root).rstrip('/')}-release"
        raise ReleaseError(
            f"{root} is a dataset that was not packed. To pack it, run:\n  corruptset pack {root} --out {packed}"
        )
    if (root / WORK_FOLDER).exists() or ((root / INDEX).exists() and not (root / SHA256SUMS).exists()):
        raise IncompleteBuild(
            f"{root} contains an interrupted pack. To finish it, run the same `corruptset pack` command again."
        )
    if not (root / INDEX).is_file():
        raise ReleaseError(
            f"{root} has no {INDEX}, so it is not a folder that `corruptset pack` wrote. Specify such a folder, or "
            "pack the dataset again."
        )
    index = parse_index(read_regular(root / INDEX, INDEX_CAP), str(root / INDEX))
    changed: list[IndexedFile] = [f for f in index.files if not is_file_as(root / f.path, f.bytes, f.sha256)]
    sizes = {path.relative_to(root).as_posix(): path.stat().st_size for path in root.rglob("*") if path.is_file()}
    absent = [a.path for a in index.archives if a.path not in sizes]
    if absent and not changed:
        raise IncompleteBuild(
            f"{root} lacks archives of the release ({first_few(absent)}), but only a complete release can be "
            f"published. Fetch the others with `corruptset fetch URL --packed --out {root}`, or pack the dataset again."
        )
    changed += [a for a in index.archives if sizes.get(a.path) != a.bytes]
    if changed:
        lines = format_list([f"{f.path} is missing, or does not have the recorded {f.bytes} bytes" for f in changed])
        raise VerificationError(
            f"{root} was changed after packing and does not match its {INDEX}:\n{lines}\nPack the dataset again, to "
            "another --out."
        )
    records = root / index.archives[-1].path
    manifest = read_heads([records])[2].manifest
    if manifest.digest != index.digest:
        raise VerificationError(
            f"{root / INDEX} states the digest {index.digest}, but the archives have {manifest.digest}. Pack the "
            "dataset again."
        )
    texts = {f.path: read_regular(root / f.path, _TEXT_CAP) for f in index.files}
    for member in read_members(records):
        if member.name == f"{top_folder(manifest)}/{PAGE}":
            texts[PAGE] = member.read(_TEXT_CAP)
    return ReleaseFolder(root, index, manifest, texts)


def published_files(
    release: ReleaseFolder,
    layout: ReleaseLayout,
    *,
    creators: Sequence[str],
    license: str | None,
    url: str | None,
    date: str | None,
) -> list[PublishedFile]:
    """Return the files of a layout in the order in which they are sent.

    The keyword arguments are those of `publish`.

    Raises
    ------
    ReleaseError
        The layout needs creators or a licence.
    """
    flat = layout == "zenodo"  # a Zenodo record has no folders
    paths = {a.name: a.name if flat else a.path for a in release.index.archives}
    document, base = json.loads(release.texts[CROISSANT]), f"{url.rstrip('/')}/" if url else ""
    for file in document["distribution"]:
        if "contentUrl" in file:
            file["contentUrl"] = base + paths.get(file["name"], file["name"])
    more = {"url": url, "license": license, "datePublished": date}
    document |= {key: value for key, value in more.items() if value is not None}
    texts = {**release.texts, CROISSANT: _json(document)}
    first: list[PublishedFile] = []
    if flat:
        first = [_text("zenodo.json", _zenodo(release, creators, license))]
        texts = _without_folders(release, texts)
    if layout == "huggingface":
        first = [PublishedFile(f.path, f.bytes, f.sha256, release.path / f.path) for f in parquet_files(release.path)]
        texts |= _hub_texts(release, license, first)
    if tagged := parse_sha256sums(texts.get(TAG_SUMS, b""))[0]:
        texts[TAG_SUMS] = tag_sums({path: texts[path] for path in tagged})
    archives = [a.model_copy(update={"path": paths[a.name]}) for a in release.index.archives]
    index = release.index.model_copy(update={"files": indexed_files(texts), "archives": archives})
    files = [
        *(PublishedFile(paths[a.name], a.bytes, a.sha256, release.path / a.path) for a in release.index.archives),
        *(_text(path, data) for path, data in sorted(texts.items())),
        _text(INDEX, index.encode()),
    ]
    return [*first, *(PublishedFile(f"files/{f.path}", f.bytes, f.sha256, f.content) if flat else f for f in files)]


def _text(path: str, data: bytes) -> PublishedFile:
    return PublishedFile(path, len(data), sha256_bytes(data), data)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _fill_template(template: str, release: ReleaseFolder, **words: Any) -> str:
    text = resources(__package__).joinpath(template).read_text("utf-8")
    return render_card(text, m=release.manifest, title=title(release.manifest), **words)


def _hub_texts(release: ReleaseFolder, license: str | None, parquet: Sequence[PublishedFile]) -> dict[str, bytes]:
    """Return README.md with the metadata of the Hub, and the table of samples as JSON lines."""
    images, card = sum(s.count for s in release.manifest.sets), release.texts[README].decode()
    readme = _fill_template(
        "hub.jinja",
        release,
        license=(license or "other").lower(),
        tags=[k.replace(" ", "-") for k in KEYWORDS],
        size=HUB_SIZE_CATEGORIES[max(0, len(str(images)) - 3)],
        configs=configurations(release.manifest, [f.path for f in parquet]) if parquet else [],
        # a release from the Hub already has this header
        card=re.sub(r"\A---\n.*?^---\n\n", "", card, flags=re.DOTALL | re.MULTILINE),
    )
    table: dict[str, list[Any]] = json.loads(release.texts[TABLE])
    rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return {README: readme.encode(), SAMPLES: lines.encode()}


def _without_folders(release: ReleaseFolder, texts: dict[str, bytes]) -> dict[str, bytes]:
    """Return the text files for a Zenodo record, which has no folders.

    The BagIt files are omitted, and the remaining files refer to archives by name only.
    """
    texts = {path: data for path, data in texts.items() if not re.match("bag|(tag)?manifest-", path)}
    card = texts[README].replace(b"The folder is a BagIt bag; ", b"")
    for start in (f"{release.index.folder}-", "*."):
        card = card.replace(f"{PAYLOAD}/{start}".encode(), start.encode())
    return {**texts, README: card, SHA256SUMS: sums_bytes({a.name: a.sha256 for a in release.index.archives})}


def _zenodo(release: ReleaseFolder, creators: Sequence[str], license: str | None) -> bytes:
    """Return the metadata of a Zenodo record in the form that Zenodo's API expects."""
    if not creators or license is None:
        raise ReleaseError(
            "A Zenodo record needs creators and a licence, which a dataset does not contain. Pass --creator 'Family, "
            "Given; Affiliation' (once for each) and --license with an SPDX id such as cc-by-4.0. The recorded "
            f"licence of the source is: {release.manifest.source.license or 'none'}."
        )
    manifest = release.manifest
    named = [[part.strip() for part in f"{given};".split(";")[:2]] for given in creators]
    about = [
        escape(one_line(manifest.recipe.get("description") or title(manifest))),
        f"{len(manifest.sets)} sets of corrupted images, {sum(s.count for s in manifest.sets)} images in "
        f"{len(manifest.classes)} classes, built with corruptset.",
        f"Digest, which identifies the benchmark on every machine: {manifest.digest}",
        "README.md explains how to check and load the files.",
    ]
    metadata = {
        "upload_type": "dataset",
        "title": f"{title(manifest)} ({manifest.name} {manifest.version})",
        "creators": [{"name": name, **({"affiliation": place} if place else {})} for name, place in named],
        "description": " ".join(f"<p>{paragraph}</p>" for paragraph in about),
        "access_right": "open",
        "license": license.lower(),
        "keywords": KEYWORDS,
        "version": manifest.version,
        "language": "eng",
    }
    return _json({"metadata": metadata})


def limit_notes(files: Sequence[PublishedFile], layout: ReleaseLayout) -> list[str]:
    """Return notes for the user on limits of the destination."""
    count, total, notes = len(files) - 1, sum(f.bytes for f in files[1:]), []
    if layout == "huggingface" and not any(f.path.startswith(PARQUET) for f in files):
        notes.append(
            "load_dataset returns only the table of samples of this release. Pack with --parquet to include images."
        )
    if layout == "zenodo" and total > ZENODO_BYTES:
        notes.append(
            f"The files have {total:,} bytes, but Zenodo accepts at most {ZENODO_BYTES:,} per record. Ask Zenodo for a "
            "higher quota first."
        )
    if layout == "zenodo" and count > ZENODO_COUNT:
        notes.append(
            f"There are {count} files, but Zenodo accepts at most {ZENODO_COUNT} per record. Pack with --by family."
        )
    return notes
