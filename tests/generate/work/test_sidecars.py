"""Test that damaged records of an unfinished build, and records of a different build, are ignored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import small_builds
from small_builds import read_files

from corruptset.errors import BuildError, Interrupted, MachineError
from corruptset.generate.commit.state import committed_parts
from corruptset.generate.plan.job import Origin
from corruptset.generate.work.sidecars import PartSet, Sidecar, read_sidecar, sidecars, write_sidecar

SETS = ["contrast/*", "brightness/*"]
NAME = "small-c-1.0.0.partial"


def make(shared_data: small_builds.SharedData, out: Path, **options: Any) -> Path:
    build_options = {"sets": SETS, "storage": "both", **options}
    return small_builds.build_dataset(shared_data.recipe(), shared_data.crops(each=1), out, **build_options)


@pytest.fixture(scope="module")
def unfinished_build(shared_data, tmp_path_factory):
    """Return a build of which all parts are committed, but which is not finished."""
    out = tmp_path_factory.mktemp("begun")

    def stop(event):
        if event.phase == "finishing":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        make(shared_data, out, progress=stop)
    return out


@pytest.fixture
def expected_files(shared_data):
    return lambda: read_files(shared_data.build(crops={"each": 1}, sets=SETS, storage="both"))


def flip(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])


def test_damaged_records_are_treated_as_missing(unfinished_build, shared_data, tmp_path, expected_files):
    """The part of a damaged sidecar is repeated.

    If the records of the build are damaged, its parts still identify the build. A set in two sidecars of a chunk counts
    once.
    """
    root = shutil.copytree(unfinished_build, tmp_path / "out") / NAME
    parts = sorted((root / ".corruptset/parts").iterdir())
    flip(parts[3])
    one, two = map(read_sidecar, parts[:2])
    write_sidecar(root, f"{parts[0].stem}_and_another", one.model_copy(update={"sets": {**one.sets, **two.sets}}))
    record = root / ".corruptset/build.json"
    record.write_bytes(record.read_bytes()[: record.read_bytes()[:-1].rindex(b"\n") + 1])
    (root / ".corruptset/source.json").write_bytes(b"")
    written_files = []

    def look(event):
        written_files.extend([event.parts_done] * (event.phase == "building"))

    finished = make(shared_data, tmp_path / "out", progress=look)
    assert (min(written_files), max(written_files)) == (len(parts) - 1, len(parts))
    assert read_files(finished) == expected_files()


@pytest.mark.parametrize("options", [{"seed": 1}, {"sets": ["contrast/*"]}])
def test_parts_of_two_builds_are_never_mixed(unfinished_build, shared_data, tmp_path, options):
    """If build.json is missing, the parts show that they belong to a different build."""
    shutil.copytree(unfinished_build, tmp_path / "out")
    (tmp_path / "out" / NAME / ".corruptset/build.json").unlink()
    with pytest.raises(
        BuildError, match=r"contains parts of a different build, and its build\.json is missing, damaged"
    ):
        make(shared_data, tmp_path / "out", **options)


def test_sidecar_damaged_before_end_stops_build(unfinished_build, shared_data, tmp_path):
    root = shutil.copytree(unfinished_build, tmp_path / "out") / NAME

    def damage(event):
        if event.phase == "finishing":
            flip(min((root / ".corruptset/parts").iterdir()))

    with pytest.raises(MachineError, match=r"damaged after it was written\. Run the same command again"):
        make(shared_data, tmp_path / "out", progress=damage)
    assert not (root / "manifest.json").exists()


def test_sidecar_round_trips_and_belongs_to_its_textures(tmp_path):
    (tmp_path / ".corruptset/parts").mkdir(parents=True)
    metrics = [[0, 1.5, None, 0.25]]
    entry = PartSet(pixels="ab" * 32, lines="ü\nx\n".encode(), files=1, bytes=7, shard=None, metrics=metrics)
    ice, glass = (Origin("sha256:build", {"textures": f"sha256:{n}"}) for n in (1, 2))
    path = tmp_path / ".corruptset/parts/x.json"
    for textures, fits in ((ice.resources, [True, False]), ({}, [True, True])):
        one = Sidecar(
            build=ice.build,
            resources=textures,
            run=2,
            first=8,
            stop=9,
            clean=["blake3:0"],
            sets={"fog/3": entry},
            environment={"numpy": "2.0.0"},
        )
        assert [one.belongs_to(ice), one.belongs_to(glass)] == fits
        assert not one.belongs_to(Origin("sha256:other", {}))
        write_sidecar(tmp_path, "x", one)
        assert read_sidecar(path) == one
        assert [bool(committed_parts(tmp_path, origin, ["fog/3"])) for origin in (ice, glass)] == fits
    data = path.read_bytes()
    for offset in range(len(data)):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 4]) + data[offset + 1 :])
        assert [result for _, result in sidecars(tmp_path)] == [None], offset
