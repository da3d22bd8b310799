"""Check the consistency of manifest.json, alone and with samples.jsonl, SHA256SUMS and regions.jsonl."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ...digests import digits
from ..checksums import parse_sha256sums
from ..paths import IMAGES, MANIFEST, REGIONS, SAMPLES, SETS, SHA256SUMS, is_path, set_path
from ..records.digests import build_digest, source_digest
from ..records.fields import DRIVE_PATTERN
from ..records.models import Manifest, RegionRow, SampleRecord
from ..records.report import Problem
from ..regions.crops import row_problem
from ..regions.grids import region_id


def _records(path: str, *details: Iterable[str]) -> Iterator[Problem]:
    return (Problem(path, "records", detail) for group in details for detail in group)


def _find_repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def manifest_problems(manifest: Manifest) -> Iterator[Problem]:
    """Yield the contradictions within a manifest."""
    return _records(MANIFEST, *(rule(manifest) for rule in (_names, _classes, _files, _recipe)))


def _recipe(manifest: Manifest) -> Iterator[str]:
    """Yield the contradictions between the sets and the resolved recipe or the revisions."""
    revisions: dict[str, set[int]] = defaultdict(set)
    for stage in (stage for record in manifest.sets for stage in record.stages):
        revisions[stage.corruption].add(stage.revision)
    if {name: {revision} for name, revision in manifest.revisions.items()} != revisions:
        of_stages = {name: sorted(r) for name, r in sorted(revisions.items())}
        yield f"revisions is {manifest.revisions}, but the stages of the sets have {of_stages}"
    for key in ("name", "version", "preprocessing"):
        stated = getattr(manifest, key)
        if manifest.recipe.get(key, stated) != stated:
            yield f"{key} is {stated!r}, but {manifest.recipe[key]!r} in the recipe"
    entries = manifest.recipe.get("sets")
    by_id = (
        {e["id"]: e for e in entries if isinstance(e, dict) and isinstance(e.get("id"), str)}
        if isinstance(entries, list)
        else {}
    )
    for record in manifest.sets:
        recorded, entry = record.as_json(), by_id.get(record.id, {})
        for key in ("stages", "aliases", "role"):
            if entry.get(key, recorded[key]) != recorded[key]:
                yield f"{key} of set {record.id!r} differs from the recipe"


def _names(manifest: Manifest) -> Iterator[str]:
    ids = [s.id for s in manifest.sets]
    if ids != sorted(ids):
        yield "sets are not sorted by id"
    for name in _find_repeated(ids + [a for s in manifest.sets for a in s.aliases]):
        yield f"{name!r} is used more than once as an id or alias"


def _classes(manifest: Manifest) -> Iterator[str]:
    if [c.index for c in manifest.classes] != list(range(len(manifest.classes))):
        yield "classes are not numbered 0, 1, 2, ... in order"
    for folder in _find_repeated(c.folder.casefold() for c in manifest.classes):
        yield f"two classes have the folder {folder!r}"
    for c in manifest.classes:
        if "/" in c.folder or not is_path(c.folder):
            yield f"the folder {c.folder!r} of class {c.index} is not a single name"


def _files(manifest: Manifest) -> Iterator[str]:
    paths = [f.path for f in manifest.files]
    if paths != sorted(set(paths)):
        yield "files are not sorted by path, or a file is listed twice"
    expected = {set_path(s.id) for s in manifest.sets} | {SAMPLES}
    records = {path for path in paths if path in (MANIFEST, SHA256SUMS, SAMPLES) or path.startswith((IMAGES, SETS))}
    for path in sorted(expected ^ records):
        yield f"files does not list {path}" if path in expected else f"files lists {path}, which it does not cover"


def sample_problems(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[Problem]:
    """Yield the contradictions within samples.jsonl, and between samples.jsonl and the manifest."""
    yield from _records(SAMPLES, _labels(manifest, samples), _groups(manifest, samples), _paths(samples))
    for record in manifest.sets:
        if record.count != len(samples):
            yield Problem(
                MANIFEST, "records", f"set {record.id!r} has count {record.count}, but there are {len(samples)} samples"
            )
    rows = [(s.id, s.label, s.sha256) for s in samples]
    sets = [(s.id, [stage.as_json() for stage in s.stages], s.count, s.pixel_digest) for s in manifest.sets]

    def dataset_digest() -> str:
        return build_digest(
            seed=manifest.seed, preprocessing=manifest.preprocessing, classes=manifest.classes, samples=rows, sets=sets
        )

    for path, name, stated, compute in (
        (SAMPLES, "source.digest", manifest.source.digest, partial(source_digest, rows)),
        (MANIFEST, "digest", manifest.digest, dataset_digest),
    ):
        try:
            if (computed := compute()) != stated:
                yield Problem(path, "digest", f"{name} in the manifest is {stated}, but the records have {computed}")
        # canonical JSON does not allow integers beyond 2**53 or unpaired surrogates
        except (ValueError, RecursionError) as e:
            yield Problem(path, "digest", f"{name} cannot be computed: {e}")


def _labels(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[str]:
    names = {c.index: c.name for c in manifest.classes}
    for row, s in enumerate(samples):
        if s.index != row:
            yield f"row {row} has index {s.index}"
        if s.label is None and s.class_ is None and not names:
            continue
        if s.label is None or s.label not in names:
            yield f"sample {s.id!r} has label {s.label}, but the manifest has classes 0 to {len(names) - 1}"
        elif s.class_ != names[s.label]:
            yield (
                f"sample {s.id!r} has label {s.label} and class {s.class_!r}, but the name of this class in the "
                f"manifest is {names[s.label]!r}"
            )
    for id in _find_repeated(s.id.casefold() for s in samples):
        yield f"two samples have the id {id!r} (ignoring case)"


def _groups(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[str]:
    """Yield the samples whose group is not part of the selection."""
    match manifest.selection.get("hold_out"):
        case {"groups": list(groups), "part": "test" | "train" as part}:
            for s in samples:
                if s.group is None or (s.group in groups) == (part == "train"):
                    group = "no group" if s.group is None else f"the group {s.group!r}"
                    yield f"sample {s.id!r} has {group}, which is not in the {part} part of the selection"


def _paths(samples: Sequence[SampleRecord]) -> Iterator[str]:
    """Yield the paths that lead out of the source or belong to two images.

    Regions of the same image share its path, which is not a problem.
    """
    image_of = {(s.path, s.id if s.region is None else s.region.source): s.path for s in samples if s.path is not None}
    for path in dict.fromkeys(image_of.values()):
        # `is_path` rejects a colon in the first part of a path, but 12:30.png is a valid name on some systems. The path
        # is therefore checked as a path below a folder.
        if DRIVE_PATTERN.match(path) or not is_path(f"{IMAGES}{path}"):
            yield f"the path {path!r} is not a relative path inside the source"
    for path in _find_repeated(image_of.values()):
        yield f"two images have the path {path!r}"


def sums_problems(manifest: Manifest, manifest_sha256: str, data: bytes) -> Iterator[Problem]:
    """Compare SHA256SUMS with the hash of the manifest and the hashes in the manifest, and yield the differences."""
    sums, errors = parse_sha256sums(data)
    yield from (Problem(SHA256SUMS, "schema", error) for error in errors)
    wanted = {f.path: f.sha256 for f in manifest.files} | {MANIFEST: manifest_sha256}
    for path in sorted(sums.keys() | wanted.keys()):
        stated, right = sums.get(path), wanted.get(path)
        if stated == right:
            continue
        if path == MANIFEST and stated is not None:
            changed = f"has {right}, but {SHA256SUMS} lists {stated}, so one of the two files was changed"
            yield from (Problem(MANIFEST, "hash", changed), Problem(SHA256SUMS, "records", f"{MANIFEST} {changed}"))
        else:
            yield Problem(
                SHA256SUMS, "records", f"lists {stated or 'no hash'} for {path}, but the manifest {right or 'no hash'}"
            )


def contradicts_manifest(manifest_sha256: str, sums: bytes | None) -> bool:
    """Return whether SHA256SUMS lists a different hash of manifest.json.

    If so, one of the two files was changed. `sums` is None if there is no SHA256SUMS.
    """
    lines = (sums or b"").split(b"\n")
    right = f"{digits(manifest_sha256)}  {MANIFEST}".encode()
    return right not in lines and any(line.endswith(MANIFEST.encode()) for line in lines)


def region_problems(
    manifest: Manifest, samples: Sequence[SampleRecord], rows: Sequence[RegionRow] | None
) -> Iterator[Problem]:
    """Yield the contradictions between the records of regions.

    `rows` are the rows of regions.jsonl, or None if there is no such file.
    """
    record = manifest.recipe.get("regions")
    store = record.get("store") if isinstance(record, dict) else None
    if store not in (None, "images", "table"):
        yield Problem(
            MANIFEST, "records", f"the recipe stores regions as {store!r}, but 'images' or 'table' is expected"
        )
    if (rows is not None) != (store == "table"):
        problem = "needs {}, but files does not list it" if store == "table" else "has no {}, but files lists it"
        yield Problem(MANIFEST, "records", f"the recipe {problem.format(REGIONS)}")
    yield from _records(SAMPLES, _regions(samples, stored=store == "images"))
    if rows is not None:
        yield from _records(REGIONS, _region_rows({s.id: s for s in samples}, rows))


def _regions(samples: Sequence[SampleRecord], *, stored: bool) -> Iterator[str]:
    for s in samples:
        if (s.region is not None) != stored:
            actual, expected = ("is not a region", "regions") if stored else ("is a region", "whole images")
            yield f"sample {s.id!r} {actual}, but according to the recipe samples are {expected}"
        elif s.region is not None and s.id != (
            name := region_id(s.region.source, s.region.side, s.region.y, s.region.x)
        ):
            yield f"sample {s.id!r} has the region that belongs to {name!r}"


def _region_rows(samples: dict[str, SampleRecord], rows: Sequence[RegionRow]) -> Iterator[str]:
    for number, row in enumerate(rows):
        sample = samples.get(row.sample)
        problem = (
            f"refers to {row.sample!r}, which is not a sample"
            if sample is None
            else row_problem(row, sample.width, sample.height)
        )
        if problem is not None:
            yield f"row {number} {problem}"
    for name in sorted(samples.keys() - {row.sample for row in rows}):
        yield f"has no row for the sample {name!r}"
