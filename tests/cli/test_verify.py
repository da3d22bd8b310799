"""verify: what it passes on to the rooms, which are stand-ins here, and what it makes of their reports."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import layouts
import pytest

from corruptset.manifests.records.report import Problem, VerificationReport


def test_verify_reports_problems_and_leaves_with_one(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []
    found = [Problem(f"images/{i}.JPEG", "missing", "is not there [b]") for i in range(60)]

    def verify(directory: Path, **kwargs: Any) -> VerificationReport:
        calls.append(kwargs)
        kwargs["progress"]("files", 1, 2)
        return VerificationReport(str(directory), "pixels", "sha256:0", found if directory.name == "bad" else [])

    monkeypatch.setattr("corruptset.generate.again.rederive.verify", verify)
    bad = run(
        "verify", "bad", "--rederive", "4", "--source", "folder:x", "--jobs", "2", "--calibration", "tiny",
        "--surrogate", "m.toml",
        "--labels", "x.csv", "--images", "y.csv", "--groups", "z.csv", "--frost-textures", "ice", "--device", "cuda",
    )  # fmt: skip
    assert bad.code == 1
    assert "60 problems" in bad.err
    assert "missing: images/0.JPEG: is not there [b]" in bad.out
    assert "10 more" in bad.out
    assert calls[0].pop("progress")
    assert calls[0] == {
        "rederive": 4,
        "repair": False,
        "source": "folder:x",
        "labels": Path("x.csv"),
        "plugins": None,
        "images": "y.csv",
        "groups": "z.csv",
        "frost_textures": Path("ice"),
        "surrogate": Path("m.toml"),
        "device": "cuda",
        "calibration_side": 64,
        "view": None,
        "jobs": 2,
    }
    good = run("verify", "good", "--rederive", "all")
    assert (good.code, "verified" in good.out) == (0, True)
    assert calls[1]["rederive"] == "all"
    assert calls[1]["source"] is None
    as_json = run("verify", "bad", "--json")
    assert as_json.code == 1
    assert len(as_json.json["problems"]) == 60


def test_verify_repairs_and_says_what_was_mended(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def verify(directory: Path, **kwargs: Any) -> VerificationReport:
        calls.append(kwargs)
        left = [Problem("manifest.json", "unmended", "it is gone")] if directory.name == "bad" else []
        return VerificationReport(
            str(directory), "pixels", "sha256:0", left, mended=[f"images/{i}.JPEG" for i in range(60)]
        )

    monkeypatch.setattr("corruptset.generate.again.rederive.verify", verify)
    good = run("verify", "good", "--repair", "--source", "folder:x")
    assert (good.code, calls[0]["repair"], calls[0]["source"]) == (0, True, "folder:x")
    assert "mended: images/0.JPEG" in good.out
    assert "10 more mended" in good.out
    assert "verified" in good.out
    bad = run("verify", "bad", "--repair")
    assert bad.code == 1
    assert "mended: images/1.JPEG" in bad.out
    assert "unmended: manifest.json: it is gone" in bad.out
    as_json = run("verify", "bad", "--repair", "--json")
    assert (as_json.code, len(as_json.json["mended"])) == (1, 60)
    assert run("verify", "good", "--json").code == 0


def test_a_view_is_neither_repaired_nor_made_again(run: Any) -> None:
    for option in (["--repair"], ["--rederive", "2"]):
        refused = run("verify", "good", "--view", "there", *option)
        assert refused.code == 2
        assert "export the view again" in refused.err or "for a build, not for a view" in refused.err


def test_both_containers_are_counted_and_that_is_said(run: Any, shared: layouts.Shared, tmp_path: Path) -> None:
    one, both = (shared.build(crops={"classes": 2}, sets=["contrast/*"], format=form) for form in ("folder", "both"))
    words = "both are checked, and images are counted in both"
    alone, twice = run("verify", one), run("verify", both)
    assert (alone.code, twice.code) == (0, 0)
    assert (words in alone.out, words in twice.out) == (False, True)
    counts = [run("verify", directory, "--json").json for directory in (one, both)]
    assert 2 * counts[0]["checked"]["images"] == counts[1]["checked"]["images"]
    assert [c["containers"] for c in counts] == [["folder"], ["folder", "hdf5"]]
    disks = [sum(p.stat().st_size for p in directory.rglob("*") if p.is_file()) for directory in (one, both)]
    assert [c["checked"]["bytes"] for c in counts] == disks


def test_a_folder_of_builds_names_them(run: Any, built: Path, tmp_path: Path) -> None:
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
