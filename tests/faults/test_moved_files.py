"""Files of real builds lost, cut, added, renamed, swapped, sets exchanged: each is found, named and mended."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import layouts
import pytest

import corruptset
from corruptset.manifests.verify.ladder import verify_directory

SETS = ["contrast/1", "contrast/4", "brightness/2"]
Damage = Callable[[Path, list[str], random.Random], tuple[set[str], set[str]]]
"""Damages a build; returns the recorded files that must be named, and the strange ones that must be."""


def lose(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    path = rng.choice(files)
    (root / path).unlink()
    return {path}, set()


def cut(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    path = rng.choice(files)
    data = (root / path).read_bytes()
    (root / path).write_bytes(data[: rng.randrange(len(data))])
    return {path}, set()


def lengthen(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    path = rng.choice(files)
    with (root / path).open("ab") as f:
        f.write(rng.randbytes(rng.randrange(1, 50)))
    return {path}, set()


def add(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    like = Path(rng.choice(files))
    path = like.with_name(f"new{rng.randrange(100)}{like.suffix}").as_posix()
    shutil.copyfile(root / like, root / path)
    return set(), {path}


def rename(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    path = rng.choice(files)
    new = Path(path).with_name(f"renamed-{Path(path).name}").as_posix()
    (root / path).rename(root / new)
    return {path}, {new}


def swap(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    """Exchange two files of one ending, which need not be of one set."""
    while True:
        one, other = rng.sample(files, 2)
        first, second = (root / one).read_bytes(), (root / other).read_bytes()
        if Path(one).suffix == Path(other).suffix and first != second:
            break
    (root / one).write_bytes(second)
    (root / other).write_bytes(first)
    return {one, other}, set()


def exchange(root: Path, files: list[str], rng: random.Random) -> tuple[set[str], set[str]]:
    """Exchange two sets whole: images, shards and rows."""
    one, other = rng.sample(SETS, 2)
    named = set()
    for path in files:
        new = path.replace(f"/{one}", f"/{other}")
        if new != path:
            first, second = (root / path).read_bytes(), (root / new).read_bytes()
            (root / path).write_bytes(second)
            (root / new).write_bytes(first)
            named |= {path, new}
    return named, set()


DAMAGE: dict[str, Damage] = {f.__name__: f for f in (lose, cut, lengthen, add, rename, swap, exchange)}


@pytest.fixture(scope="module")
def source(shared: layouts.Shared) -> Path:
    return shared.crops(each=1)


@pytest.fixture(scope="module")
def built(shared: layouts.Shared) -> Path:
    return shared.build(crops={"each": 1}, recipe={"encoding": "jpeg"}, format="both", sets=SETS)


@pytest.mark.parametrize("times", [1, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_and_mended(built: Path, source: Path, tmp_path: Path, name: str, times: int) -> None:
    good = layouts.files_of(built)
    # without its manifest a directory is an incomplete build, and nothing else of it is looked at
    files = sorted(good.keys() - {"manifest.json"})
    root = tmp_path / built.name
    shutil.copytree(built, root)
    rng = random.Random(f"{name} {times}")
    for _ in range(times):
        recorded, strange = DAMAGE[name](root, files, rng)
        damaged = {p for p in recorded if not (root / p).exists() or (root / p).read_bytes() != good[p]}
        assert damaged or strange
        named = {p.path.partition("#")[0] for p in verify_directory(root).problems}
        assert named >= damaged | strange
        report = corruptset.verify(root, repair=True, source=f"folder:{source}", jobs=1)
        assert set(report.mended or ()) == damaged
        assert {p.path for p in report.problems} == strange
        for path in strange:
            (root / path).unlink()
        assert layouts.files_of(root) == good
