"""verify on data sets: both containers, a view, a folder of builds."""

from __future__ import annotations

import shutil


def test_a_view_is_neither_repaired_nor_made_again(run):
    for option in (["--repair"], ["--rederive", "2"]):
        refused = run("verify good --view there", *option)
        assert refused.code == 2
        assert "export the view again" in refused.err or "for a build, not for a view" in refused.err


def test_both_containers_are_counted_and_that_is_said(run, shared, tmp_path):
    one, both = (shared.build(crops={"classes": 2}, sets=["contrast/*"], format=form) for form in ("folder", "both"))
    words = "both are checked, and images are counted in both"
    alone, twice = run("verify", one), run("verify", both)
    assert (alone.code, twice.code) == (0, 0)
    assert (words in alone.out, words in twice.out) == (False, True)
    counts = [run("verify --json", directory).json for directory in (one, both)]
    assert 2 * counts[0]["checked"]["images"] == counts[1]["checked"]["images"]
    assert [c["containers"] for c in counts] == [["folder"], ["folder", "hdf5"]]
    disks = [sum(p.stat().st_size for p in directory.rglob("*") if p.is_file()) for directory in (one, both)]
    assert [c["checked"]["bytes"] for c in counts] == disks


def test_a_folder_of_builds_names_them(run, built, tmp_path):
    parent = tmp_path / "out"
    shutil.copytree(built, parent / "first-1.0.0")
    done = run("verify", parent)
    assert done.code == 1
    assert f"Did you mean {parent / 'first-1.0.0'}?" in done.out
    shutil.copytree(built, parent / "second-1.0.0")
    for command in (["verify"], ["show"], ["export", "imagefolder", "--out", "x"]):
        done = run(*command, parent)
        assert done.code in (1, 2)
        assert f"holds 2. Name one of them: {parent / 'first-1.0.0'}, {parent / 'second-1.0.0'}." in done.out + done.err
