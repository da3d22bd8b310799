"""Files of real builds that are damaged in every way, and edited manifests: each is found, named, and put back by a
repair.

A few by default; the full counts are recorded in docs/repairing.md and are run by

    pytest -m long tests/faults/test_damage.py -s
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import small_builds

import corruptset
from corruptset.manifests.verify.directory import verify_directory

SETS = ["contrast/1", "contrast/4", "clean"]
BUILDS = ["png", "jpeg"]
ALONE_NOT = ("manifest.json", "samples.jsonl", "rows")
"""Paths of records that other records may contradict. Problems of images, shards and texts are reported alone."""
UNDERIVABLE = {
    "environment", "excluded", "selection", "textures", "source.name", "source.license", "coupling", "scale",
    "encoding.quality",
    "encoding.optimize", "encoding.subsampling", "sets.metrics", "metrics_images", "recipe",
}  # fmt: skip
"""Values that only SHA256SUMS protects, and those that only regenerated samples can check."""


@pytest.fixture
def copy(shared_data, tmp_path):
    """Return a copy of a small build of this kind."""

    def copied(name):
        recipe = {"encoding": "jpeg" if name == "jpeg" else "png"}
        root = shared_data.build(crops={"each": 1}, recipe=recipe, metrics=2, storage="both", sets=SETS)
        return Path(shutil.copytree(root, tmp_path / root.name))

    return copied


def kind_of(path: str) -> str:
    """Return the kind of a file of a dataset."""
    for start, kind in (("images/", "image"), ("hdf5/", "shard"), ("sets/", "rows")):
        if path.startswith(start):
            return kind
    return path.rpartition("/")[2]


WAYS = ["flip", "lose", "cut", "lengthen", "add", "rename", "swap", "exchange"]


def damage(way: str, root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    """Damage a dataset. Return the recorded files and the unexpected files that must be reported."""
    kind = rng.choice(sorted({kind_of(path) for path in files}))
    path = rng.choice([path for path in files if kind_of(path) == kind])
    data, at = (root / path).read_bytes(), rng.randrange((root / path).stat().st_size)
    new = Path(path).with_name(f"new{rng.randrange(100)}{Path(path).suffix}").as_posix()
    match way:
        case "flip":
            (root / path).write_bytes(data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :])
        case "cut":
            (root / path).write_bytes(data[:at])
        case "lengthen":
            (root / path).write_bytes(data + rng.randbytes(rng.randrange(1, 50)))
        case "lose":
            (root / path).unlink()
        case "add":
            (root / new).write_bytes(data)
            return set(), {new}
        case "rename":
            (root / path).rename(root / new)
            return {path}, {new}
        case _:  # two files with the same suffix, of any set, or two complete sets with images, shards and records
            one, other = rng.sample(SETS, 2)
            pairs = [(p, p.replace(f"/{one}", f"/{other}")) for p in files if f"/{one}" in p]
            if way == "swap":
                others = [p for p in files if (root / p).read_bytes() != data]
                pairs = [(path, rng.choice([p for p in others if kind_of(p) == kind] or others))]
            for first, second in pairs:
                data = (root / first).read_bytes()
                (root / first).write_bytes((root / second).read_bytes())
                (root / second).write_bytes(data)
            return {path for pair in pairs for path in pair}, set()
    return {path}, set()


@pytest.mark.parametrize("count", [14, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", BUILDS)
def test_every_flipped_byte_is_found_with_its_file(copy, name, count):
    root, rng = copy(name), random.Random(f"{name} {count}")
    original, tried = small_builds.read_files(root), Counter[str]()
    kinds = sorted({kind_of(path) for path in original})
    for number in range(count):
        kind = kinds[number % len(kinds)]
        ((path,), _) = damage("flip", root, [path for path in original if kind_of(path) == kind], rng)
        problems = verify_directory(root).problems
        fields = {p.path.partition("#")[0] for p in problems}
        fields -= {"manifest.json"} if path == "SHA256SUMS" else set()  # one of the two was changed
        assert fields >= {path} if kind in ALONE_NOT else fields == {path}, problems[:3]
        (root / path).write_bytes(original[path])
        tried[kind] += 1
    print(f"{name}: {count} bytes flipped, none missed: {dict(tried)}")
    assert verify_directory(root).ok


@pytest.mark.parametrize(
    ("way", "name", "times"),
    [
        *((way, "jpeg", 1) for way in WAYS),
        *(pytest.param("flip", name, 5, marks=pytest.mark.ci) for name in BUILDS),
        *(pytest.param("flip", name, 100, marks=pytest.mark.long) for name in BUILDS),
        *(pytest.param(way, "jpeg", 12, marks=pytest.mark.long) for way in WAYS[1:]),
    ],
)
def test_damage_is_named_and_repaired(copy, shared_data, way, name, times):
    root = copy(name)
    original = small_builds.read_files(root)
    # without its manifest, a directory is an incomplete build, and nothing else in it is checked
    files = sorted(original.keys() - {"manifest.json"})
    rng = random.Random(f"{way} {name} {times}")
    for _ in range(times):
        recorded, strange = damage(way, root, files, rng)
        damaged = {p for p in recorded if not (root / p).exists() or (root / p).read_bytes() != original[p]}
        assert damaged or strange
        fields = {p.path.partition("#")[0] for p in verify_directory(root).problems}
        assert fields >= damaged | strange
        report = corruptset.verify(root, repair=True, source=f"folder:{shared_data.crops(each=1)}", jobs=1)
        # if SHA256SUMS and manifest.json disagree, either may have been changed, and a repair changes neither
        unclear = {p.path for p in report.problems} & damaged & {"SHA256SUMS"}
        assert set(report.mended or ()) == damaged - unclear
        assert {p.path for p in report.problems} == strange | unclear
        for path in strange:
            (root / path).unlink()
        for path in unclear:
            (root / path).write_bytes(original[path])
        assert small_builds.read_files(root) == original


def test_damaged_manifest_is_reported_as_not_repairable(copy, shared_data):
    root = copy("jpeg")
    for seed in range(3):
        original = (root / "manifest.json").read_bytes()
        damage("flip", root, ["manifest.json"], random.Random(seed))
        report = corruptset.verify(root, repair=True, source=f"folder:{shared_data.crops(each=1)}", jobs=1)
        assert ("manifest.json", "unmended") in {(p.path, p.kind) for p in report.problems}
        assert report.mended == []
        (root / "manifest.json").write_bytes(original)


def leaves(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value that is not an object or a list with content."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [path for key, each in items for path in leaves(each, (*above, key))]
    yield from inner or [above]


def different_value(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        at = len(value) // 2
        return value[:at] + ("1" if value[at : at + 1] != "1" else "2") + value[at + 1 :]
    return "x" if value is None else ["x"] if value == [] else {"x": 1}


@pytest.mark.parametrize("max_fields", [25, pytest.param(10**6, marks=pytest.mark.long)])
@pytest.mark.parametrize("sealed", [False, True])
def test_every_edited_manifest_field_is_found(copy, sealed, max_fields):
    """Edited values are found without an updated hash, and in most cases also with one."""
    root = copy("jpeg")
    text, sums = (root / "manifest.json").read_bytes(), (root / "SHA256SUMS").read_bytes()
    fields = list(leaves(json.loads(text)))
    missed = set()
    for path in random.Random(1).sample(fields, min(max_fields, len(fields))):
        manifest = inner = json.loads(text)
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = different_value(inner[path[-1]])
        data = json.dumps(manifest, ensure_ascii=False, indent=2).encode() + b"\n"
        (root / "manifest.json").write_bytes(data)
        if sealed:
            old, new = (hashlib.sha256(d).hexdigest().encode() for d in (text, data))
            (root / "SHA256SUMS").write_bytes(sums.replace(old, new))
        named = {p.path for p in verify_directory(root, level="sizes").problems}
        if sealed and not named:
            missed.add(".".join(str(key) for key in path if not isinstance(key, int)))
        assert sealed or "manifest.json" in named, path
    print(f"{len(fields)} fields, {sealed=}: not found {sorted(missed)}")
    assert {m for m in missed if not any(m == u or m.startswith(f"{u}.") for u in UNDERIVABLE)} == set()
