"""The rules that hold between records: of manifest.json by itself, with samples.jsonl, SHA256SUMS and regions.jsonl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from ...digests import digits
from ..checksums import parse_sha256sums
from ..layout import IMAGES, MANIFEST, REGIONS, SAMPLES, SETS, SHA256SUMS, are_paths, set_path
from ..records.digests import build_digest, source_digest
from ..records.fields import DRIVE, safe_path
from ..records.models import Manifest, RegionRow, SampleRecord
from ..records.report import Problem
from ..regions.crops import row_problem
from ..regions.grids import region_id


def _wrong(detail: str, path: str = MANIFEST, kind: str = "records") -> Problem:
    return Problem(path, kind, detail)


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def manifest_problems(manifest: Manifest) -> Iterator[Problem]:
    """Yield what is wrong with a manifest by itself."""
    yield from _names(manifest)
    yield from _classes(manifest)
    yield from _files(manifest)
    yield from _views(manifest)
    revisions: dict[str, set[int]] = {}
    for record in manifest.sets:
        for stage in record.stages:
            revisions.setdefault(stage.corruption, set()).add(stage.revision)
    if {name: {revision} for name, revision in manifest.revisions.items()} != revisions:
        of_stages = {name: sorted(r) for name, r in sorted(revisions.items())}
        yield _wrong(f"revisions says {manifest.revisions}, the stages of the sets say {of_stages}")
    for key in ("name", "version"):
        if key in manifest.recipe and manifest.recipe[key] != getattr(manifest, key):
            yield _wrong(f"{key} is {getattr(manifest, key)!r}, the recipe's is {manifest.recipe[key]!r}")
    yield from _recipe(manifest)


def _recipe(manifest: Manifest) -> Iterator[Problem]:
    """Yield where the recipe, which is resolved in full, contradicts the sets."""
    if manifest.recipe.get("preprocessing", manifest.preprocessing) != manifest.preprocessing:
        yield _wrong("preprocessing is not the recipe's")
    entries = manifest.recipe.get("sets")
    by_id = {e["id"]: e for e in entries if isinstance(e, dict) and isinstance(e.get("id"), str)} if isinstance(entries, list) else {}
    for record in manifest.sets:
        recorded, entry = record.as_json(), by_id.get(record.id, {})
        for key in ("stages", "aliases", "role"):
            if key in entry and entry[key] != recorded[key]:
                yield _wrong(f"{key} of set {record.id!r} are not the recipe's")


def _names(manifest: Manifest) -> Iterator[Problem]:
    ids = [s.id for s in manifest.sets]
    if ids != sorted(ids):
        yield _wrong("sets are not sorted by id")
    for name in _repeated(ids + [a for s in manifest.sets for a in s.aliases]):
        yield _wrong(f"{name!r} names more than one set, or one twice")
    folders = {c.folder for c in manifest.classes}
    known = set(ids)
    for id in ids:
        parts = id.split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in known and parts[depth] in folders:
                yield _wrong(f"set {id!r} lies in a class folder of set {'/'.join(parts[:depth])!r}")


def _views(manifest: Manifest) -> Iterator[Problem]:
    if manifest.encoding["containers"] != ["view"]:
        if manifest.views:
            yield _wrong("views names one, and the images are not stored as a view")
        return
    if len(manifest.views) != 1 or not isinstance(places := manifest.views[0].get("sets"), dict):
        yield _wrong("the images are stored as a view; views has to name one, with the place of every set under sets")
        return
    if set(places) != {s.id for s in manifest.sets}:
        yield _wrong("views does not say where every set is")
    for set_id, paths in places.items():
        if not are_paths(paths):
            yield _wrong(f"views says that set {set_id!r} is in {paths!r}, which is not a list of relative paths")


def _classes(manifest: Manifest) -> Iterator[Problem]:
    if [c.index for c in manifest.classes] != list(range(len(manifest.classes))):
        yield _wrong("classes are not numbered 0, 1, 2, ... in order")
    for folder in _repeated([c.folder.casefold() for c in manifest.classes]):
        yield _wrong(f"two classes share the folder {folder!r}")
    for c in manifest.classes:
        try:
            inside = "/" not in safe_path(c.folder)
        except ValueError:
            inside = False
        if not inside:
            yield _wrong(f"the folder {c.folder!r} of class {c.index} is not one plain name")


def _files(manifest: Manifest) -> Iterator[Problem]:
    paths = [f.path for f in manifest.files]
    if paths != sorted(paths):
        yield _wrong("files are not sorted by path")
    for path in _repeated(paths):
        yield _wrong(f"files lists {path!r} twice")
    rows = {set_path(s.id) for s in manifest.sets}
    listed = set(paths)
    for path in sorted((rows | {SAMPLES}) - listed):
        yield _wrong(f"files does not list {path}")
    for path in sorted(listed):
        if path in (MANIFEST, SHA256SUMS) or path.startswith(IMAGES):
            yield _wrong(f"files lists {path}, which is not among the files that it covers")
        elif path.startswith(SETS) and path not in rows:
            yield _wrong(f"files lists {path}, but there is no such set")


def sample_problems(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[Problem]:
    """Yield what is wrong with samples.jsonl, all rows of which are records."""

    names = {c.index: c.name for c in manifest.classes}
    for row, s in enumerate(samples):
        if s.index != row:
            yield _wrong(f"row {row} has index {s.index}", SAMPLES)
        if s.label is None and s.class_ is None and not names:
            continue
        if s.label is None or s.label not in names:
            yield _wrong(f"sample {s.id!r} has label {s.label}, the manifest has classes 0 to {len(names) - 1}", SAMPLES)
        elif s.class_ != names[s.label]:
            detail = f"sample {s.id!r} has label {s.label} and class {s.class_!r}, the manifest calls that class {names[s.label]!r}"
            yield _wrong(detail, SAMPLES)
    yield from _groups(manifest, samples)
    yield from _paths(samples)
    for id in _repeated([s.id.casefold() for s in samples]):
        yield _wrong(f"two samples have the id {id!r} (capitals aside)", SAMPLES)
    for record in manifest.sets:
        if record.count != len(samples):
            yield _wrong(f"set {record.id!r} has count {record.count}; there are {len(samples)} samples")
    rows = [(s.id, s.label, s.sha256) for s in samples]
    yield from _digest("source.digest", manifest.source.digest, lambda: source_digest(rows), SAMPLES)
    sets = [(s.id, [stage.as_json() for stage in s.stages], s.count, s.pixel_digest) for s in manifest.sets]

    def whole() -> str:
        return build_digest(seed=manifest.seed, preprocessing=manifest.preprocessing, classes=manifest.classes, samples=rows, sets=sets)

    yield from _digest("digest", manifest.digest, whole, MANIFEST)


def _groups(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[Problem]:
    """Yield which samples are of groups that the selection has not."""
    match manifest.selection.get("hold_out"):
        case {"groups": list(groups), "part": "test" | "train" as part}:
            held = {group for group in groups if isinstance(group, str)}
            for s in samples:
                if s.group is None or (s.group in held) == (part == "train"):
                    of = "no group" if s.group is None else f"the group {s.group!r}"
                    yield _wrong(f"sample {s.id!r} is of {of}, which is not in the {part} part of the selection", SAMPLES)


def _paths(samples: Sequence[SampleRecord]) -> Iterator[Problem]:
    """Yield which paths lead out of the source, or are those of two images; regions of one image share its path."""
    image_of = {(s.path, s.id if s.region is None else s.region.source): s.path for s in samples if s.path is not None}
    for path in dict.fromkeys(image_of.values()):
        try:
            safe_path(f"{IMAGES}{path}")  # behind a folder: 12:30.png is a name on some systems
            inside = not DRIVE.match(path)
        except ValueError:
            inside = False
        if not inside:
            yield _wrong(f"the path {path!r} is not a relative path inside the source", SAMPLES)
    for path in _repeated([*image_of.values()]):
        yield _wrong(f"two images have the path {path!r}", SAMPLES)


def _digest(field: str, stated: str, compute: Callable[[], str], path: str) -> Iterator[Problem]:
    try:
        computed = compute()
    # canonical JSON refuses integers beyond 2**53 and lone surrogates
    except (ValueError, RecursionError) as e:
        yield _wrong(f"{field} cannot be computed: {e}", path, "digest")
        return
    if computed != stated:
        yield _wrong(f"the manifest's {field} is {stated}, the records give {computed}", path, "digest")


def sums_problems(manifest: Manifest, manifest_sha256: str, data: bytes) -> Iterator[Problem]:
    """Yield where SHA256SUMS and the manifest disagree; SHA256SUMS alone has the hash of manifest.json."""
    sums, mistakes = parse_sha256sums(data)
    for mistake in mistakes:
        yield Problem(SHA256SUMS, "schema", mistake)
    wanted: Mapping[str, str] = {f.path: f.sha256 for f in manifest.files} | {MANIFEST: manifest_sha256}
    for path in sorted(sums.keys() - wanted.keys()):
        yield Problem(SHA256SUMS, "records", f"names {path}, which the manifest does not list")
    for path in sorted(wanted.keys() - sums.keys()):
        yield Problem(SHA256SUMS, "records", f"does not name {path}")
    for path in sorted(sums.keys() & wanted.keys()):
        if sums[path] == wanted[path]:
            continue
        if path == MANIFEST and not nearly(sums[path], wanted[path]):
            yield Problem(MANIFEST, "hash", f"has {wanted[path]}, SHA256SUMS says {sums[path]}: one of the two files was changed")
        else:
            yield Problem(SHA256SUMS, "records", f"says {sums[path]} for {path}, the manifest says {wanted[path]}")


NEAR = 8
"""Digits that a damaged hash may differ in; of two unrelated hashes some sixty differ."""


def nearly(text: str | bytes, expected: str | bytes) -> bool:
    """Return whether a few characters of a hash are damaged: then its text was changed, and not what is hashed."""
    return len(text) == len(expected) and sum(a != b for a, b in zip(text, expected, strict=True)) <= NEAR


Witness = Literal["agrees", "damaged", "silent", "contradicts"]


def manifest_witness(manifest_sha256: str, sums: bytes | None) -> Witness:
    """Return what SHA256SUMS (None: it is not there) says of manifest.json.

    ``damaged``: a few characters of its line differ. ``silent``: it has no line. ``contradicts``: it names another hash, so that one of the
    two files was changed, and nothing says which.
    """
    right = f"{digits(manifest_sha256)}  {MANIFEST}".encode()
    lines = (sums or b"").split(b"\n")
    if right in lines:
        return "agrees"
    if any(nearly(line, right) for line in lines):
        return "damaged"
    return "contradicts" if any(line.endswith(MANIFEST.encode()) for line in lines) else "silent"


def region_problems(manifest: Manifest, samples: Sequence[SampleRecord], rows: Sequence[RegionRow] | None) -> Iterator[Problem]:
    """Yield what is wrong with the regions of a data set; `rows` are those of regions.jsonl, None where there is no such file."""
    record = manifest.recipe.get("regions")
    store = record.get("store") if isinstance(record, dict) else None
    if store not in (None, "images", "table"):
        yield Problem(MANIFEST, "records", f"the recipe's regions are stored as {store!r}; expected 'images' or 'table'")
    if (rows is not None) != (store == "table"):
        expected, listed = ("a", "none") if store == "table" else ("no", "one")
        yield Problem(MANIFEST, "records", f"the recipe says that there is {expected} {REGIONS}, and files lists {listed}")
    for s in samples:
        if (s.region is not None) != (store == "images"):
            is_one, are = ("is no region", "are") if s.region is None else ("is a region", "are not")
            yield Problem(SAMPLES, "records", f"sample {s.id!r} {is_one}, and the recipe says that samples {are}")
        elif s.region is not None:
            name = region_id(s.region.source, s.region.side, s.region.y, s.region.x)
            if name != s.id:
                yield Problem(SAMPLES, "records", f"sample {s.id!r} has the region of {name!r}")
    if rows is not None:
        yield from _region_rows({s.id: s for s in samples}, rows)


def _region_rows(samples: dict[str, SampleRecord], rows: Sequence[RegionRow]) -> Iterator[Problem]:
    for number, row in enumerate(rows):
        sample = samples.get(row.sample)
        problem = f"is of {row.sample!r}, which is no sample" if sample is None else row_problem(row, sample.width, sample.height)
        if problem is not None:
            yield Problem(REGIONS, "records", f"row {number} {problem}")
    for name in sorted(samples.keys() - {row.sample for row in rows}):
        yield Problem(REGIONS, "records", f"has no row of the sample {name!r}")
