"""Test that files are synchronised with the disk before their sidecar or manifest is written.

The order of the system calls is checked, because a power failure cannot be simulated.
"""

from __future__ import annotations

import os
from pathlib import Path

from corruptset.generate import builder

SETS = ["contrast/*", "brightness/*"]


def test_files_are_on_disk_before_records_that_refer_to_them(
    make,
    shared_data,
    tmp_path,
    monkeypatch,
):
    synced = set()
    unnamed = {}  # what was put in place, and whose name may not be on disk yet -> its folder
    sidecars = []
    last = [""]
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(fd):
        last[0] = path = os.readlink(f"/proc/self/fd/{fd}")
        synced.add(path)
        for target in [target for target, folder in unnamed.items() if folder == path]:
            del unnamed[target]
        real_fsync(fd)

    def replace(source, target):
        if tmp_path in Path(target).parents:  # and not a kernel that is compiled meanwhile
            source, target = os.fspath(source), os.fspath(target)
            assert source in synced, f"{target} is put in place before it is on disk"
            if "/parts/" in target or target.endswith("/manifest.json"):
                assert unnamed == {}, f"{target} speaks for names that are not on disk"
                sidecars.append(target) if "/parts/" in target else None
            synced.add(target)
            unnamed[target] = os.path.dirname(target)
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    root = make(sets=SETS, recipe=shared_data.recipe(), storage="hdf5").directory
    assert unnamed == {}
    assert len(sidecars) == len(set(sidecars)) > 1
    rows = {os.fspath(p) for p in root.rglob("*") if p.suffix in (".h5", ".jsonl")}
    assert rows
    assert {f"{root}.partial{path.removeprefix(os.fspath(root))}" for path in rows} <= synced
    assert last == [os.fspath(root.parent)]


def test_required_space_is_that_of_remaining_parts(make, interrupt_build, monkeypatch):
    needed = []
    monkeypatch.setattr(builder, "check_space", lambda directory, estimate, *_: needed.append(estimate))
    interrupt_build(2, sets=SETS)
    make(sets=["clean"], out="more", extend=make(sets=SETS).directory)
    before_it_began, first, resumed, before_the_extension, extended = needed
    assert before_it_began == first
    assert before_the_extension == extended == first // 10  # ten images in place of a hundred
    assert 0 < resumed < first
    assert resumed % (extended // 10) == 0
