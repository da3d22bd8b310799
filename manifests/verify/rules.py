"""The rules that hold between records: of manifest.json by itself, with samples.jsonl, SHA256SUMS and regions.jsonl."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ...digests import digits
from ..checksums import parse_sha256sums
from ..paths import IMAGES, MANIFEST, REGIONS, SAMPLES, SETS, SHA256SUMS, is_path, set_path
from ..records.digests import build_digest, source_digest
from ..records.fields import DRIVE
from ..records.models import Manifest, RegionRow, SampleRecord
from ..records.report import Problem
from ..regions.crops import row_problem
from ..regions.grids import region_id


def _records(path: str, *details: Iterable[str]) -> Iterator[Problem]:
    return (Problem(path, "records", detail) for some in details for detail in some)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def manifest_problems(manifest: Manifest) -> Iterator[Problem]:
    """Yield what is wrong with a manifest by itself."""
    return _records(MANIFEST, *(rule(manifest) for rule in (_names, _classes, _files, _recipe)))


def _recipe(manifest: Manifest) -> Iterator[str]:
    """Yield where the recipe, which is resolved in full, and the revisions contradict the sets."""
    revisions: dict[str, set[int]] = defaultdict(set)
    for stage in (stage for record in manifest.sets for stage in record.stages):
        revisions[stage.corruption].add(stage.revision)
    if {name: {revision} for name, revision in manifest.revisions.items()} != revisions:
        of_stages = {name: sorted(r) for name, r in sorted(revisions.items())}
        yield f"revisions says {manifest.revisions}, the stages of the sets say {of_stages}"
    for key in ("name", "version", "preprocessing"):
        stated = getattr(manifest, key)
        if manifest.recipe.get(key, stated) != stated:
            yield f"{key} is {stated!r}, the recipe's is {manifest.recipe[key]!r}"
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
                yield f"{key} of set {record.id!r} are not the recipe's"


def _names(manifest: Manifest) -> Iterator[str]:
    ids = [s.id for s in manifest.sets]
    if ids != sorted(ids):
        yield "sets are not sorted by id"
    for name in _repeated(ids + [a for s in manifest.sets for a in s.aliases]):
        yield f"{name!r} names more than one set, or one twice"


def _classes(manifest: Manifest) -> Iterator[str]:
    if [c.index for c in manifest.classes] != list(range(len(manifest.classes))):
        yield "classes are not numbered 0, 1, 2, ... in order"
    for folder in _repeated(c.folder.casefold() for c in manifest.classes):
        yield f"two classes share the folder {folder!r}"
    for c in manifest.classes:
        if "/" in c.folder or not is_path(c.folder):
            yield f"the folder {c.folder!r} of class {c.index} is not one plain name"


def _files(manifest: Manifest) -> Iterator[str]:
    paths = [f.path for f in manifest.files]
    if paths != sorted(set(paths)):
        yield "files are not sorted by path, or one is listed twice"
    expected = {set_path(s.id) for s in manifest.sets} | {SAMPLES}
    records = {path for path in paths if path in (MANIFEST, SHA256SUMS, SAMPLES) or path.startswith((IMAGES, SETS))}
    for path in sorted(expected ^ records):
        yield f"files does not list {path}" if path in expected else f"files lists {path}, which it does not cover"


def sample_problems(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[Problem]:
    """Yield what is wrong with samples.jsonl, whose rows are all records."""
    yield from _records(SAMPLES, _labels(manifest, samples), _groups(manifest, samples), _paths(samples))
    for record in manifest.sets:
        if record.count != len(samples):
            yield Problem(
                MANIFEST, "records", f"set {record.id!r} has count {record.count}; there are {len(samples)} samples"
            )
    rows = [(s.id, s.label, s.sha256) for s in samples]
    sets = [(s.id, [stage.as_json() for stage in s.stages], s.count, s.pixel_digest) for s in manifest.sets]

    def whole() -> str:
        return build_digest(
            seed=manifest.seed, preprocessing=manifest.preprocessing, classes=manifest.classes, samples=rows, sets=sets
        )

    for path, name, stated, compute in (
        (SAMPLES, "source.digest", manifest.source.digest, partial(source_digest, rows)),
        (MANIFEST, "digest", manifest.digest, whole),
    ):
        try:
            if (computed := compute()) != stated:
                yield Problem(path, "digest", f"the manifest's {name} is {stated}, the records give {computed}")
        # canonical JSON refuses integers beyond 2**53 and lone surrogates
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
            yield f"sample {s.id!r} has label {s.label}, the manifest has classes 0 to {len(names) - 1}"
        elif s.class_ != names[s.label]:
            yield (
                f"sample {s.id!r} has label {s.label} and class {s.class_!r}, the manifest calls that class "
                f"{names[s.label]!r}"
            )
    for id in _repeated(s.id.casefold() for s in samples):
        yield f"two samples have the id {id!r} (capitals aside)"


def _groups(manifest: Manifest, samples: Sequence[SampleRecord]) -> Iterator[str]:
    """Yield which samples are of groups that the selection has not."""
    match manifest.selection.get("hold_out"):
        case {"groups": list(groups), "part": "test" | "train" as part}:
            for s in samples:
                if s.group is None or (s.group in groups) == (part == "train"):
                    of = "no group" if s.group is None else f"the group {s.group!r}"
                    yield f"sample {s.id!r} is of {of}, which is not in the {part} part of the selection"


def _paths(samples: Sequence[SampleRecord]) -> Iterator[str]:
    """Yield which paths lead out of the source, or are those of two images.

    Regions of one image share its path.
    """
    image_of = {(s.path, s.id if s.region is None else s.region.source): s.path for s in samples if s.path is not None}
    for path in dict.fromkeys(image_of.values()):
        # behind a folder: 12:30.png is a name on some systems
        if DRIVE.match(path) or not is_path(f"{IMAGES}{path}"):
            yield f"the path {path!r} is not a relative path inside the source"
    for path in _repeated(image_of.values()):
        yield f"two images have the path {path!r}"


def sums_problems(manifest: Manifest, manifest_sha256: str, data: bytes) -> Iterator[Problem]:
    """Yield where SHA256SUMS and the manifest disagree; SHA256SUMS alone has the hash of manifest.json."""
    sums, mistakes = parse_sha256sums(data)
    yield from (Problem(SHA256SUMS, "schema", mistake) for mistake in mistakes)
    wanted = {f.path: f.sha256 for f in manifest.files} | {MANIFEST: manifest_sha256}
    for path in sorted(sums.keys() | wanted.keys()):
        stated, right = sums.get(path), wanted.get(path)
        if stated == right:
            continue
        if path == MANIFEST and stated is not None:
            changed = f"has {right}, and {SHA256SUMS} says {stated}: one of the two files was changed"
            yield from (Problem(MANIFEST, "hash", changed), Problem(SHA256SUMS, "records", f"{MANIFEST} {changed}"))
        else:
            yield Problem(
                SHA256SUMS, "records", f"says {stated or 'nothing'} of {path}, the manifest says {right or 'nothing'}"
            )


def contradicts_manifest(manifest_sha256: str, sums: bytes | None) -> bool:
    """Return whether SHA256SUMS has another hash of manifest.json, so that one of the two files was changed.

    Nothing says which. `sums` is None if there is no SHA256SUMS.
    """
    lines = (sums or b"").split(b"\n")
    right = f"{digits(manifest_sha256)}  {MANIFEST}".encode()
    return right not in lines and any(line.endswith(MANIFEST.encode()) for line in lines)


def region_problems(
    manifest: Manifest, samples: Sequence[SampleRecord], rows: Sequence[RegionRow] | None
) -> Iterator[Problem]:
    """Yield what is wrong with the regions of a data set.

    `rows` are those of regions.jsonl, None where there is no such file.
    """
    record = manifest.recipe.get("regions")
    store = record.get("store") if isinstance(record, dict) else None
    if store not in (None, "images", "table"):
        yield Problem(
            MANIFEST, "records", f"the recipe's regions are stored as {store!r}; expected 'images' or 'table'"
        )
    if (rows is not None) != (store == "table"):
        expected, listed = ("a", "none") if store == "table" else ("no", "one")
        yield Problem(
            MANIFEST, "records", f"the recipe says that there is {expected} {REGIONS}, and files lists {listed}"
        )
    yield from _records(SAMPLES, _regions(samples, stored=store == "images"))
    if rows is not None:
        yield from _records(REGIONS, _region_rows({s.id: s for s in samples}, rows))


def _regions(samples: Sequence[SampleRecord], *, stored: bool) -> Iterator[str]:
    for s in samples:
        if (s.region is not None) != stored:
            is_one, are = ("is no region", "are") if stored else ("is a region", "are not")
            yield f"sample {s.id!r} {is_one}, and the recipe says that samples {are}"
        elif s.region is not None and s.id != (
            name := region_id(s.region.source, s.region.side, s.region.y, s.region.x)
        ):
            yield f"sample {s.id!r} has the region of {name!r}"


def _region_rows(samples: dict[str, SampleRecord], rows: Sequence[RegionRow]) -> Iterator[str]:
    for number, row in enumerate(rows):
        sample = samples.get(row.sample)
        problem = (
            f"is of {row.sample!r}, which is no sample"
            if sample is None
            else row_problem(row, sample.width, sample.height)
        )
        if problem is not None:
            yield f"row {number} {problem}"
    for name in sorted(samples.keys() - {row.sample for row in rows}):
        yield f"has no row of the sample {name!r}"
