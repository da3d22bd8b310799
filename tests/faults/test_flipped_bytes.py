"""Bytes flipped at random in every kind of file of real builds: each is found, the file is named, and a repair puts it
back.

A few dozen by default; the full count is recorded in docs/repairing.md and is run by

    pytest -m long tests/faults/test_flipped_bytes.py -s
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import layouts
import pytest

import corruptset
from corruptset.manifests.verify.ladder import verify_directory

SETS = ["contrast/1", "contrast/4", "clean"]
BUILDS = ["png", "jpeg", "view"]


@dataclass(frozen=True)
class Small:
    """A small build, and the source that it was made from."""

    root: Path
    source: str
    kinds: dict[str, list[str]]
    """Kind of file -> the files of that kind."""


def kind_of(path: str) -> str:
    """Return what kind of file a path of a build is."""
    for start, kind in (("images/", "image"), ("hdf5/", "shard"), ("sets/", "rows")):
        if path.startswith(start):
            return kind
    return "array" if path.endswith(".npy") and "labels" not in path else path.rpartition("/")[2]


@pytest.fixture(scope="module")
def builds(shared: layouts.Shared) -> dict[str, Small]:
    made = {}
    for name in BUILDS:
        recipe = {"encoding": "jpeg" if name == "jpeg" else "png"}
        options = {"view": "cifar-c", "sets": ["contrast/*"]} if name == "view" else {"format": "both", "sets": SETS}
        root = shared.build(crops={"each": 1}, recipe=recipe, metrics=2, **options)
        kinds: dict[str, list[str]] = {}
        for path in sorted(layouts.files_of(root)):
            kinds.setdefault(kind_of(path), []).append(path)
        made[name] = Small(root, f"folder:{shared.crops(each=1)}", kinds)
    return made


@contextmanager
def flipped(path: Path, at: int, mask: int) -> Iterator[None]:
    """Have one byte of a file changed for a while."""
    with path.open("r+b") as f:
        byte = os.pread(f.fileno(), 1, at)[0]
        os.pwrite(f.fileno(), bytes([byte ^ mask]), at)
        yield
        os.pwrite(f.fileno(), bytes([byte]), at)


def pick(rng: random.Random, small: Small, number: int) -> tuple[str, str, int, int]:
    """Return (kind, path, offset, mask): kinds in turn, the rest at random."""
    kinds = sorted(small.kinds)
    kind = kinds[number % len(kinds)]
    path = rng.choice(small.kinds[kind])
    return kind, path, rng.randrange((small.root / path).stat().st_size), rng.randrange(1, 256)


@pytest.mark.parametrize("count", [14, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", BUILDS)
def test_each_flipped_byte_is_found_and_its_file_named(builds: dict[str, Small], name: str, count: int) -> None:
    small = builds[name]
    rng = random.Random(f"{name} {count}")
    tried: Counter[str] = Counter()
    missed = []
    for number in range(count):
        kind, path, at, mask = pick(rng, small, number)
        with flipped(small.root / path, at, mask):
            problems = verify_directory(small.root).problems
        named = {p.path.partition("#")[0] for p in problems}
        # other records may contradict the changed one, and are then named too; images, shards and texts stand alone
        alone = kind not in ("manifest.json", "samples.jsonl", "rows")
        tried[kind] += 1
        if path not in named or (alone and named != {path}):
            missed.append((path, at, mask, [str(p) for p in problems[:3]]))
    print(f"{name}: {sum(tried.values())} bytes flipped, {len(missed)} missed: {dict(sorted(tried.items()))}")
    assert not missed
    assert verify_directory(small.root).ok


@pytest.mark.parametrize("count", [pytest.param(8, marks=pytest.mark.ci), pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", BUILDS)
def test_each_flipped_byte_is_mended(builds: dict[str, Small], tmp_path: Path, name: str, count: int) -> None:
    """All but those of manifest.json, of which it is said that they cannot be."""
    small = builds[name]
    root = tmp_path / small.root.name
    shutil.copytree(small.root, root)
    good = layouts.files_of(root)
    rng = random.Random(f"mend {name} {count}")
    mended: Counter[str] = Counter()
    for number in range(count):
        kind, path, at, mask = pick(rng, small, number)
        data = bytearray(good[path])
        data[at] ^= mask
        (root / path).write_bytes(data)
        report = corruptset.verify(root, repair=True, source=small.source, jobs=1)
        if kind == "manifest.json":
            assert ("manifest.json", "unmended") in {(p.path, p.kind) for p in report.problems}, (path, at, mask)
            assert report.mended == [], (path, at, mask)
            (root / path).write_bytes(good[path])
        else:
            assert report.ok, (path, at, mask, report.problems)
            assert report.mended == [path]
            mended[kind] += 1
        assert layouts.files_of(root) == good, (path, at, mask)
    print(
        f"{name}: {count} bytes flipped one at a time, {sum(mended.values())} files mended: "
        f"{dict(sorted(mended.items()))}"
    )
