"""Damaged records of an unfinished build are as if they were not there, and so are those of another build."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest

import corruptset
from corruptset.errors import BuildError, Interrupted, MachineError
from corruptset.generate.build import ProgressEvent
from corruptset.generate.plan.job import Origin
from corruptset.generate.work.sidecars import PartSet, Sidecar, read_sidecar, sidecars, write_sidecar

SETS = ["contrast/*", "brightness/*"]


@pytest.fixture(scope="module")
def crops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_crops(tmp_path_factory.mktemp("crops"), each=1)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_recipe(tmp_path_factory.mktemp("recipe"))


@pytest.fixture(scope="module")
def begun(crops: Path, recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of which every part is committed, and nothing else is done."""
    return interrupted(crops, recipe, tmp_path_factory.mktemp("begun"))


@pytest.fixture(scope="module")
def whole(crops: Path, recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return layouts.files_of(layouts.make(recipe, crops, tmp_path_factory.mktemp("whole"), sets=SETS, format="both"))


def interrupted(crops: Path, recipe: Path, out: Path, **options: Any) -> Path:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "finishing":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        layouts.make(recipe, crops, out, **{"sets": SETS, "format": "both", "progress": stop} | options)
    return out


@pytest.fixture
def resume(begun: Path, crops: Path, recipe: Path, tmp_path: Path) -> Any:
    """Copy the build, do something to it, and run the same command again; return how many parts it made and the data
    set.
    """

    def run(harm: Callable[[Path], object], **options: Any) -> tuple[int, Path]:
        out = tmp_path / "out"
        shutil.copytree(begun, out)
        root = next(out.iterdir())
        harm(root)
        made: list[int] = []

        def look(event: ProgressEvent) -> None:
            if event.phase == "building":
                made.append(event.parts_done)

        layouts.make(recipe, crops, out, **{"sets": SETS, "format": "both", "progress": look} | options)
        return (made[-1] - made[0] if made else 0), root

    return run


def flipped(data: bytes) -> bytes:
    return data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]


def test_damaged_records_are_as_if_they_were_not_there(resume: Any, whole: dict[str, bytes]) -> None:
    """A damaged sidecar's part is made again; where records of the build are damaged, parts say whose they are."""

    def damage(root: Path) -> None:
        work = root / ".corruptset"
        for path, harm in (
            (sorted((work / "parts").iterdir())[3], flipped),
            (work / "build.json", lambda data: data[: data[:-1].rindex(b"\n") + 1]),
            (work / "source.json", lambda data: b""),
        ):
            path.write_bytes(harm(path.read_bytes()))

    made, root = resume(damage)
    assert made == 1
    assert layouts.files_of(root) == whole


@pytest.mark.parametrize("options", [{"seed": 1}, {"sets": ["contrast/*"]}])
def test_parts_of_two_builds_are_never_mixed(resume: Any, options: dict[str, Any]) -> None:
    """Where build.json is gone the parts themselves say that they are another build's."""
    with pytest.raises(BuildError, match=r"holds parts of another build, and its build\.json is damaged, missing"):
        resume(lambda root: (root / ".corruptset/build.json").unlink(), **options)


def test_an_extension_whose_record_is_gone_loses_nothing_that_was_finished(
    crops: Path, recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = layouts.make(recipe, crops, out, sets=["contrast/*"])
    interrupted(crops, recipe, out, sets=["brightness/*"], format=None)
    (first / ".corruptset/build.json").write_bytes(b"")
    assert corruptset.open(first).set_ids == [f"contrast/{s}" for s in range(1, 6)]
    assert {p.path for p in corruptset.verify(first, jobs=1).problems} > {".corruptset"}
    layouts.make(recipe, crops, out, sets=["brightness/*"])
    assert layouts.files_of(first) == layouts.files_of(layouts.make(recipe, crops, tmp_path / "both", sets=SETS))


def test_a_sidecar_that_is_damaged_before_the_end_stops_the_build(
    begun: Path, crops: Path, recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(begun, out)

    def damage(event: ProgressEvent) -> None:
        if event.phase == "finishing":
            path = sorted(out.glob("*/.corruptset/parts/*.json"))[0]
            path.write_bytes(flipped(path.read_bytes()))

    with pytest.raises(MachineError, match=r"damaged after it was written\. Run the same command again"):
        layouts.make(recipe, crops, out, sets=SETS, format="both", progress=damage)
    assert not list(out.glob("*/manifest.json"))


def sidecar(build: str, resources: Any, sets: dict[str, PartSet]) -> Sidecar:
    return Sidecar(build=build, resources=resources, run=2, first=8, stop=9, clean=["blake3:0"], sets=sets)


def test_a_sidecar_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / ".corruptset/parts").mkdir(parents=True)
    metrics = [[0, 1.5, None, 0.25]]
    entry = PartSet(pixels="ab" * 32, lines="ü\nx\n".encode(), files=1, bytes=7, shard=None, metrics=metrics)
    one = sidecar("sha256:1", {"textures": "sha256:2"}, {"fog/3": entry, "clean": entry})
    write_sidecar(tmp_path, "x", one)
    path = tmp_path / ".corruptset/parts/x.json"
    assert read_sidecar(path) == one
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        assert [found for _, found in sidecars(tmp_path)] == [None], at


def test_a_part_belongs_to_builds_of_its_textures_and_one_without_to_any() -> None:
    identity = {"seed": 1, "textures": ["those of other sets"]}
    ice, glass = (Origin.of(identity, {"textures": [{"name": "ice.png", "sha256": f"sha256:{n}"}]}) for n in (1, 2))
    parts = [sidecar(ice.build, textures, {}) for textures in (ice.resources, {})]
    assert [part.of(ice) for part in parts] == [True, True]
    assert [part.of(glass) for part in parts] == [False, True]
    assert not any(part.of(Origin.of(identity | {"seed": 2}, {})) for part in parts)
