"""What stands beside the archives of a data set: data card, checksums, BagIt's tag files.

The folder is a BagIt bag (RFC 8493): the archives are its payload, in ``data/``. BagIt's date is left out, as it is not needed and would
differ between two packings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..checksums import sha256sums_bytes
from ..layout import SHA256SUMS
from ..records.digests import sha256_bytes
from ..records.models import FileRecord, Manifest
from .division import METADATA, top_folder

BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
PAYLOAD = "data"
CODE_LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Packed:
    """An archive as it was made."""

    file: FileRecord
    """Its path is the file's name."""
    sets: tuple[str, ...]
    media: str
    """Media type."""

    @property
    def path(self) -> str:
        """Where it is in the bag."""
        return f"{PAYLOAD}/{self.file.path}"


def tag_files(manifest: Manifest, archives: Sequence[Packed], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bag but for its payload, SHA256SUMS last.

    Parameters
    ----------
    manifest : Manifest
    archives : sequence of Packed
    texts : mapping
        Other files beside the payload, by name.
    """
    payload = [FileRecord(path=a.path, bytes=a.file.bytes, sha256=a.file.sha256) for a in archives]
    sums = sha256sums_bytes(payload)
    info = [
        ("Bag-Software-Agent", "corruptset"),
        ("External-Identifier", manifest.digest),
        ("External-Description", _line(f"{manifest.recipe.get('title') or manifest.name} ({manifest.name} {manifest.version})")),
        ("Payload-Oxum", f"{sum(f.bytes for f in payload)}.{len(payload)}"),
    ]
    files = {
        "bagit.txt": BAGIT,
        "bag-info.txt": "".join(f"{key}: {value}\n" for key, value in info).encode(),
        "manifest-sha256.txt": sums,
        **texts,
    }
    tags = [FileRecord(path=path, bytes=len(data), sha256=sha256_bytes(data)) for path, data in files.items()]
    tags.append(FileRecord(path=SHA256SUMS, bytes=len(sums), sha256=sha256_bytes(sums)))
    return {**files, "tagmanifest-sha256.txt": sha256sums_bytes(tags), SHA256SUMS: sums}


def release_card(manifest: Manifest, archives: Sequence[Packed], *, samples: int, pixels: bool) -> bytes:
    """Return the README.md beside the archives.

    Parameters
    ----------
    manifest : Manifest
    archives : sequence of Packed
    samples : int
    pixels : bool
        Whether the archives hold the images.
    """
    title = _line(str(manifest.recipe.get("title") or manifest.name))
    top = top_folder(manifest)
    images = sum(s.count for s in manifest.sets)
    lines = [f"# {title} ({manifest.name} {manifest.version})", ""]
    if manifest.recipe.get("description"):
        lines += [_line(str(manifest.recipe["description"])), ""]
    lines += [
        f"A static corrupted image benchmark: {len(manifest.sets)} sets of {samples} samples ({images} images) in {len(manifest.classes)} "
        "classes. Its digest is its name, equal on every machine and in every container:",
        "",
        f"    {manifest.digest}",
        "",
    ]
    if not pixels:
        lines += [
            "**This release has no images**, only their records: which samples, which corruptions with which parameters, and the digest of "
            "the pixels of every image. Whoever has the source makes the images again and compares them with these digests.",
            "",
        ]
    lines += ["## Files", "", "| archive | bytes | sets | sha256 |", "|---|---|---|---|"]
    for a in archives:
        what = ", ".join(f"`{s}`" for s in _ranges(a.sets)) or "records, no images"
        lines.append(f"| `{a.path}` | {a.file.bytes} | {what} | `{a.file.sha256.removeprefix('sha256:')}` |")
    suffix = archives[0].file.path.rpartition(".")[2]
    lines += [
        "",
        f"Any of them can be used without the others: each carries `manifest.json`, `samples.jsonl`, the records of its own sets and a "
        f"list of what is in it. The one called `{METADATA}` has the records of all sets.",
        "",
        "## Check and load",
        "",
        "```console",
        "sha256sum --check SHA256SUMS",
        f"corruptset unpack {PAYLOAD}/*.{suffix} --out .",
        f"corruptset verify {top}",
        "```",
        "",
        "`corruptset unpack` checks every file while it reads it. The archives are plain ones, so any program unpacks them too; it also "
        "leaves a folder `archives/`, which is not a part of the data set.",
        "",
        *(_loading(manifest) if pixels else ()),
        f"The folder is a BagIt bag; `croissant.json` describes it for Croissant readers. In `{top}/`, `README.md` says how other loaders "
        "open the images.",
        "",
        "## How it was made",
        "",
        f"By corruptset {_line(manifest.environment.get('corruptset', ''))} from the source `{_line(manifest.source.name)}` "
        f"(`{manifest.source.digest}`), with seed {manifest.seed}, coupling `{manifest.coupling}`, scale `{manifest.scale}`.",
        "",
        f"* Preprocessing: `{_json(manifest.preprocessing)}`",
        f"* Encoding: `{_json(manifest.encoding)}`",
        f"* Corruptions and their revisions: {', '.join(f'{_line(n)} {r}' for n, r in sorted(manifest.revisions.items())) or 'none'}",
        f"* Left out of the source as unusable: {len(manifest.excluded)}",
        "",
        "Every parameter of every set is in `manifest.json`.",
        "",
        "## Licences",
        "",
        "* **Source images**, from which the corrupted ones derive: "
        f"{_line(manifest.source.license or 'their own terms apply; none are recorded here')}.",
        f"* **Code** that made them (corruptset): {CODE_LICENCE}. It puts no terms on its output.",
        f"* **Textures**: {_textures(manifest)}",
        "",
        "## Citation",
        "",
        f"Cite the benchmark by name, version and digest ({manifest.name} {manifest.version}, `{manifest.digest}`), the paper that defines "
        "its corruptions, the source of its images, and corruptset (its CITATION.cff).",
    ]
    return ("\n".join(lines) + "\n").encode()


def _loading(manifest: Manifest) -> list[str]:
    return [
        "```python",
        "import corruptset",
        "",
        f'data = corruptset.open("{top_folder(manifest)}")',
        f'for image, label in data["{_example(manifest)}"]:  # uint8 (H, W, C)',
        "    ...",
        "```",
        "",
    ]


def _textures(manifest: Manifest) -> str:
    if not manifest.textures:
        return "none went into these images."
    names = "; ".join(f"`{_line(t.name)}` (`{t.sha256}`)" for t in manifest.textures)
    return f"{names}. corruptset's own are rendered by its code and under the code's licence; others have their own terms."


def _example(manifest: Manifest) -> str:
    return next((s.id for s in manifest.sets if s.stages), manifest.sets[0].id if manifest.sets else "clean")


def _ranges(sets: Sequence[str]) -> list[str]:
    """Return set ids with those of one corruption as one: ``fog/1..5``."""
    found: dict[str, list[str]] = {}
    for s in sets:
        start, slash, last = s.rpartition("/")
        found.setdefault(start if slash else s, []).append(last if slash else "")
    return [f"{start}/{lasts[0]}..{lasts[-1]}" if len(lasts) > 1 else f"{start}/{lasts[0]}".rstrip("/") for start, lasts in found.items()]


def _line(text: str) -> str:
    """Return text as one line that no table or tag file is broken by."""
    return " ".join(text.split())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
