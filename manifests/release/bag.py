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

from ...digests import digits
from ...quantities import size
from ..checksums import sums_bytes
from ..layout import SHA256SUMS
from ..records.digests import sha256_bytes
from ..records.markdown import markdown_code, markdown_text
from ..records.models import FileRecord, Manifest
from .division import top_folder

BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
PAYLOAD = "data"
Lacks = Literal["nothing", "images", "rows"]


@dataclass(frozen=True)
class PackedArchive:
    """An archive in a bag; its record's path is the file's name."""

    file: FileRecord
    sets: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path in the bag."""
        return f"{PAYLOAD}/{self.file.path}"


@dataclass(frozen=True)
class Bag:
    """What `pack` wrote.

    Attributes
    ----------
    path : Path
    digest : str
        The build's.
    archives : list of PackedArchive
    kept : int
        Archives that an earlier, interrupted pack had finished.
    """

    path: Path
    digest: str
    archives: list[PackedArchive]
    kept: int

    def __repr__(self) -> str:
        return f"<Bag {self.path}: {len(self.archives)} archives ({self.kept} kept), {size(self.bytes)}, {self.digest}>"

    @property
    def bytes(self) -> int:
        """The bytes of all archives."""
        return sum(a.file.bytes for a in self.archives)


def tag_files(manifest: Manifest, archives: Sequence[PackedArchive], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bag but for its payload, SHA256SUMS last; `texts` are other files beside the payload, by name."""
    sums = sums_bytes({a.path: a.file.sha256 for a in archives})
    info = {
        "Bag-Software-Agent": "corruptset",
        "External-Identifier": manifest.digest,
        "External-Description": f"{title(manifest)} ({manifest.name} {manifest.version})",
        "Payload-Oxum": f"{sum(a.file.bytes for a in archives)}.{len(archives)}",
    }
    texts = {
        "bagit.txt": BAGIT,
        "bag-info.txt": "".join(f"{key}: {value}\n" for key, value in info.items()).encode(),
        "manifest-sha256.txt": sums,
        **texts,
    }
    tags = {path: sha256_bytes(data) for path, data in {**texts, SHA256SUMS: sums}.items()}
    return {**texts, "tagmanifest-sha256.txt": sums_bytes(tags), SHA256SUMS: sums}


CARD = "card.md"
"""The template of the data card, beside this module."""
WITHOUT_PIXELS = """\
**This release has no images**, only their records: which samples, which corruptions with which parameters, and the digest of \
the pixels of every image. Whoever has the source makes the images again and compares them with these digests.

"""
WITHOUT_ROWS = """\
**This release has no images**, only their records: which samples, which corruptions with which parameters, and one digest for \
each set. Whoever has the source makes the images again and compares whole sets with these digests.

"""
VIRTUAL = """\
With the source, images are made when they are asked for, equal to the stored ones, or stored again:

```python
import corruptset

data = corruptset.open("{top}", source="{source}:PATH")
for image, label in data["{example}"]:  # uint8 (H, W, C)
    ...
```

```console
corruptset rebuild {top} --source {source}:PATH --out DIR
```

"""
LOADING = """\
```python
import corruptset

data = corruptset.open("{top}")
for image, label in data["{example}"]:  # uint8 (H, W, C)
    ...
```

"""


def release_card(manifest: Manifest, archives: Sequence[PackedArchive], *, samples: int, lacks: Lacks) -> bytes:
    """Return the README.md beside the archives; `lacks` says what of the data set is in none of them."""
    top = top_folder(manifest)
    description = manifest.recipe.get("description")
    example = next((s.id for s in manifest.sets if s.stages), manifest.sets[0].id if manifest.sets else "clean")
    template = files(__package__).joinpath(CARD).read_text("utf-8")
    text = template.format(
        m=manifest,
        title=markdown_text(title(manifest)),
        description=f"{markdown_text(description)}\n\n" if description else "",
        sets=len(manifest.sets),
        samples=samples,
        images=sum(s.count for s in manifest.sets),
        classes=len(manifest.classes),
        without_pixels={"nothing": "", "images": WITHOUT_PIXELS, "rows": WITHOUT_ROWS}[lacks],
        rows="\n".join(map(_row, archives)),
        suffix=archives[0].file.path.rpartition(".")[2],
        top=top,
        loading=(LOADING if lacks == "nothing" else VIRTUAL).format(top=top, example=example, source=_line(manifest.source.name)),
        corruptset=_line(manifest.environment.get("corruptset", "")),
        source=_line(manifest.source.name),
        preprocessing=_json(manifest.preprocessing),
        encoding=_json(manifest.encoding),
        revisions=", ".join(f"{markdown_text(n)} {r}" for n, r in sorted(manifest.revisions.items())) or "none",
        excluded=len(manifest.excluded),
        licence=markdown_text(manifest.source.license or "their own terms apply; none are recorded here"),
        textures=_textures(manifest),
    )
    return text.encode()


def _row(archive: PackedArchive) -> str:
    sets = ", ".join(f"`{s}`" for s in _ranges(archive.sets)) or "records, no images"
    return f"| `{archive.path}` | {archive.file.bytes} | {sets} | `{digits(archive.file.sha256)}` |"


def _textures(manifest: Manifest) -> str:
    if not manifest.textures:
        return "none went into these images."
    names = "; ".join(f"{markdown_code(t.name)} (`{t.sha256}`)" for t in manifest.textures)
    return f"{names}. corruptset's own are rendered by its code and under the code's licence; others have their own terms."


def _ranges(sets: Sequence[str]) -> list[str]:
    """Return set ids with those of one corruption as one: ``fog/1..5``."""
    groups: dict[str, list[str]] = {}
    for set_id in sets:
        start, slash, last = set_id.rpartition("/")
        groups.setdefault(start if slash else set_id, []).append(last if slash else "")
    return [f"{start}/{lasts[0]}..{lasts[-1]}" if len(lasts) > 1 else f"{start}/{lasts[0]}".rstrip("/") for start, lasts in groups.items()]


def title(manifest: Manifest) -> str:
    """Return the title of a data set, as one line."""
    return _line(manifest.recipe.get("title") or manifest.name)


def _line(text: object) -> str:
    """Return text as one line, which breaks no table and no tag file."""
    return " ".join(str(text).split())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
