"""What a sidecar or a manifest speaks for is on disk before it: seen from the calls, as a power cut cannot be had."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import layouts
import pytest

from corruptset.errors import Interrupted
from corruptset.generate import build as building
from corruptset.generate.build import ProgressEvent
from corruptset.generate.pixels.encoding import PngEncoding
from corruptset.generate.planning import plan
from corruptset.generate.sinks.sink import stored_bytes

SETS = ["contrast/*", "brightness/*"]


@pytest.mark.parametrize("where", [{"format": "hdf5"}, {"view": "cifar-c"}])
def test_everything_is_on_disk_before_what_speaks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: dict[str, Any]
) -> None:
    calls: list[tuple[str, Any]] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(fd: int) -> None:
        info = os.fstat(fd)
        calls.append(("folder" if stat.S_ISDIR(info.st_mode) else "file", os.readlink(f"/proc/self/fd/{fd}")))
        real_fsync(fd)

    def replace(source: Any, target: Any) -> None:
        if tmp_path in Path(target).parents:  # and not a kernel that is compiled meanwhile
            calls.append(("replace", (os.fspath(source), os.fspath(target))))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    crops = layouts.write_crops(tmp_path / "crops", each=1)
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "out", sets=SETS, **where)
    synced: set[str] = set()
    named: list[tuple[str, str]] = []  # (what was put in place, its folder) whose name may not be on disk yet
    sidecars = 0
    for kind, what in calls:
        if kind == "file":
            synced.add(what)
        elif kind == "folder":
            named = [(target, folder) for target, folder in named if folder != what]
        else:
            source, target = what
            assert source in synced, f"{target} is put in place before it is on disk"
            sidecars += "/parts/" in target
            if "/parts/" in target or target.endswith("/manifest.json"):
                assert named == [], f"{target} speaks for names that are not on disk"
            synced.add(target)
            named.append((target, os.path.dirname(target)))
    assert named == []
    assert sidecars == len({what[1] for kind, what in calls if kind == "replace" and "/parts/" in what[1]}) > 1
    first = next(i for i, (kind, what) in enumerate(calls) if kind == "replace" and "/parts/" in what[1])
    arrays = {os.fspath(p.parent) for p in root.rglob("*.npy")}
    assert arrays <= {what for kind, what in calls[:first] if kind == "folder"}, (
        "an array's rows count before its name is on disk"
    )
    rows = [p for p in root.rglob("*") if p.suffix in (".npy", ".h5", ".jsonl") and p.name != "labels.npy"]
    assert rows
    assert {os.fspath(p) for p in rows} <= synced
    assert calls[-1] == ("folder", os.fspath(root))


def test_the_space_that_is_asked_for_is_that_of_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed: list[int] = []
    monkeypatch.setattr(building, "check_space", lambda directory, estimate, *_: needed.append(estimate))
    crops = layouts.write_crops(tmp_path / "crops", each=1)
    recipe = layouts.write_recipe(tmp_path)

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    whole = plan(recipe, f"folder:{crops}", sets=SETS, jobs=1, format="both")
    with pytest.raises(Interrupted):
        layouts.make(recipe, crops, tmp_path / "out", sets=SETS, format="both", progress=stop)
    layouts.make(recipe, crops, tmp_path / "out", sets=SETS, format="both")
    layouts.make(recipe, crops, tmp_path / "out", sets=[*SETS, "clean"], format="both")
    assert whole.images == 100
    one = stored_bytes(PngEncoding(), (32, 32), "folder") + stored_bytes(PngEncoding(), (32, 32), "hdf5")
    before_it_began, first, resumed, before_the_extension, extended = needed
    assert before_it_began == first == 100 * one
    assert 0 < resumed < first
    assert resumed % one == 0
    assert before_the_extension == extended == 10 * one
