"""The folder of a packed data set: archives, data card, checksums, BagIt's tag files.

The folder is a BagIt bag (RFC 8493): the archives are its payload, in ``data/``. BagIt's date is left out: it is optional, and would differ
between two packings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from ...quantities import size
from ..checksums import sums_bytes
from ..layout import SHA256SUMS
from ..records.digests import sha256_bytes
from ..records.markdown import markdown_code, markdown_text
from ..records.models import Manifest
from .contents import top_folder
from .release_index import IndexedArchive

Lacks = Literal["nothing", "images", "rows"]


@dataclass(frozen=True)
class Bag:
    """What `pack` wrote.

    Attributes
    ----------
    path : Path
    digest : str
        The build's.
    archives : list of IndexedArchive
        With path, bytes, sha256 and sets of each.
    kept : int
        Archives that an earlier, interrupted pack had finished.
    """

    path: Path
    digest: str
    archives: list[IndexedArchive]
    kept: int

    def __repr__(self) -> str:
        return f"<Bag {self.path}: {len(self.archives)} archives ({self.kept} kept), {size(self.bytes)}, {self.digest}>"

    @property
    def bytes(self) -> int:
        """The bytes of all archives."""
        return sum(a.bytes for a in self.archives)


def tag_files(manifest: Manifest, archives: Sequence[IndexedArchive], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bag but for its payload, SHA256SUMS last; `texts` are other files beside the payload, by name."""
    sums = sums_bytes({a.path: a.sha256 for a in archives})
    info = {
        "Bag-Software-Agent": "corruptset",
        "External-Identifier": manifest.digest,
        "External-Description": f"{title(manifest)} ({manifest.name} {manifest.version})",
        "Payload-Oxum": f"{sum(a.bytes for a in archives)}.{len(archives)}",
    }
    texts = {
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": "".join(f"{key}: {value}\n" for key, value in info.items()).encode(),
        "manifest-sha256.txt": sums,
        **texts,
    }
    tags = {path: sha256_bytes(data) for path, data in {**texts, SHA256SUMS: sums}.items()}
    return {**texts, "tagmanifest-sha256.txt": sums_bytes(tags), SHA256SUMS: sums}


def release_card(manifest: Manifest, archives: Sequence[IndexedArchive], *, samples: int, lacks: Lacks) -> bytes:
    """Return the README.md beside the archives; `lacks` says what of the data set is in none of them."""
    from jinja2 import Environment

    words = Environment(trim_blocks=True, keep_trailing_newline=True)
    words.filters |= {"text": markdown_text, "code": markdown_code, "line": _line, "ranges": _ranges, "json": _json}
    text = words.from_string(files(__package__).joinpath("card.md").read_text("utf-8")).render(
        m=manifest,
        title=markdown_text(title(manifest)),
        top=top_folder(manifest),
        source=_line(manifest.source.name),
        example=next((s.id for s in manifest.sets if s.stages), manifest.sets[0].id if manifest.sets else "clean"),
        archives=archives,
        samples=samples,
        lacks=lacks,
    )
    return text.encode()


def _ranges(sets: Sequence[str]) -> str:
    """Return set ids with those of one corruption as one: ``fog/1..5``."""
    groups: dict[str, list[str]] = {}
    for set_id in sets:
        start, _, last = set_id.rpartition("/")
        groups.setdefault(start or set_id, []).append(f"/{last}" if start else "")
    ranges = (f"`{start}{lasts[0]}{f'..{lasts[-1][1:]}' * (len(lasts) > 1)}`" for start, lasts in groups.items())
    return ", ".join(ranges) or "records, no images"


def title(manifest: Manifest) -> str:
    """Return the title of a data set, as one line."""
    return _line(manifest.recipe.get("title") or manifest.name)


def _line(text: object) -> str:
    """Return text as one line, which breaks no table and no tag file."""
    return " ".join(str(text).split())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
