"""plan, build, verify, show, rebuild and repair, from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from layouts import files_of

SETS = {"gaussian_noise/1", "fog/3", "contrast/2"}
CHOICE = ["--sets", "gaussian_noise/1,fog/3", "--sets", "contrast/2", "--samples", "3"]


def test_a_build_is_what_its_plan_said_and_names_its_parts(run: Any, built: Any, tmp_path: Path) -> None:
    planned = run("plan", "imagenet-c", *CHOICE, "--json", cwd=tmp_path)
    assert planned.code == 0, planned.err
    manifest = json.loads((built.directory / "manifest.json").read_text(encoding="utf-8"))
    assert {s["id"] for s in manifest["sets"]} == SETS
    assert planned.json["images"] == sum(s["count"] for s in manifest["sets"]) == 9
    estimate, real = planned.json["bytes"], sum(s["bytes"] for s in manifest["sets"])
    assert real / 4 < estimate < real * 4
    text = run("plan", "imagenet-c", *CHOICE, "--list-sets", cwd=tmp_path)
    assert all(name in text.out for name in SETS)
    assert list(tmp_path.iterdir()) == []
    assert built.done.out.splitlines()[-4:] == [
        f"Directory:     {built.directory}",
        f"Contact sheet: {built.directory / 'contact.png'}",
        f"Page:          {built.directory / 'index.html'}",
        f"Digest:        {manifest['digest']}",
    ]
    # what was built is on standard output, how it went on standard error
    assert ("build: " in built.done.out, "build: " in built.done.err) == (False, True)
    shown = run("show", built.directory, "--json").json
    assert (shown["digest"], {s["id"] for s in shown["sets"]}, shown["images"]) == (manifest["digest"], SETS, 9)
    without = run("build", "imagenet-c", "--sets", "contrast/2", "--samples", "1", "--no-page", "--out", tmp_path)
    assert "Page:" not in without.out
    # `corrupt` makes what a build stores
    sample = json.loads((built.directory / "samples.jsonl").read_text(encoding="utf-8").splitlines()[1])
    for name in ("gaussian_noise/1", "fog/3"):
        stored = json.loads((built.directory / f"sets/{name}.jsonl").read_text(encoding="utf-8").splitlines()[1])
        words = ["corrupt", f"sample:{sample['id']}", name, "--recipe", "imagenet-c", "--force", "--json", "--out"]
        done = run(*words, tmp_path / "x.png").json
        assert (done["key"], done["pixels"]) == (sample["id"], stored["pixels"])
        assert (done["width"], done["height"]) == (224, 224)


def test_verify_passes_a_good_build_and_names_everything_that_is_wrong(run: Any, built: Any, tmp_path: Path) -> None:
    done = run("verify", built.directory, "--rederive", "2", "--jobs", "1")
    assert (done.code, done.err.count("problem")) == (0, 0), done.err
    assert "2 samples made again" in done.out
    assert json.loads((built.directory / "manifest.json").read_text(encoding="utf-8"))["digest"] in done.out
    other = run("verify", built.directory, "--rederive", "1", "--source", f"folder:{built.directory}/images/fog/3")
    assert other.code == 2
    assert "not the one" in other.err
    copy = tmp_path / "copy"
    shutil.copytree(built.directory, copy)
    images = sorted(p for p in (copy / "images").rglob("*") if p.is_file())
    data = bytearray(images[0].read_bytes())
    data[len(data) // 2] ^= 1
    images[0].write_bytes(data)
    images[1].unlink()
    (copy / "images" / "stray.txt").write_text("here")
    wrong = {path.relative_to(copy).as_posix() for path in (images[0], images[1], copy / "images" / "stray.txt")}
    done = run("verify", copy, "--jobs", "1")
    assert done.code == 1
    assert all(path in done.out for path in wrong)
    report = run("verify", copy, "--json", "--jobs", "1")
    assert (report.code, report.json["ok"]) == (1, False)
    assert {p["path"] for p in report.json["problems"]} == wrong
    (copy / "manifest.json").unlink()
    done = run("verify", copy, "--jobs", "1")
    assert done.code == 1
    assert "incomplete" in (done.out + done.err).lower()


def test_more_sets_extend_and_a_different_seed_is_refused(run: Any, tmp_path: Path) -> None:
    one = ["build", "imagenet-c", "--samples", "2", "--jobs", "1", "--metrics", "1", "--json", "--sets"]
    first = run(*one, "contrast/2", "--out", tmp_path / "a")
    assert first.code == 0, first.err
    more = run(*one, "contrast/2,pixelate/5", "--out", tmp_path / "a")
    assert more.code == 0, more.err
    whole = run(*one, "contrast/2,pixelate/5", "--out", tmp_path / "b")
    assert more.json["digest"] == whole.json["digest"] != first.json["digest"]
    # made by this command, not all that there are
    assert [done.json["images"] for done in (first, more, whole)] == [2, 2, 4]
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    other = run(*one, "contrast/2,pixelate/5", "--out", tmp_path / "a", "--seed", "1")
    assert (other.code, other.json["error"]["kind"]) == (2, "BuildError")
    assert "seed" in other.err


def test_a_release_without_pixels_is_rebuilt_and_a_damaged_build_repaired(run: Any, built: Any, tmp_path: Path) -> None:
    release = tmp_path / "release"
    left_out = shutil.ignore_patterns("images", "hdf5", "*.png", "*.md", "LICENSE")
    shutil.copytree(built.directory, release, ignore=left_out)
    done = run("rebuild", release / "manifest.json", "--out", tmp_path / "out", "--jobs", "1")
    assert done.code == 0, done.err
    (again,) = (tmp_path / "out").iterdir()
    assert files_of(again) == files_of(built.directory)
    assert "Every file has the bytes that the manifest lists." in done.out
    image = next(p for p in sorted(again.rglob("*.JPEG")))
    image.write_bytes(image.read_bytes()[:-5])
    (again / "contact.png").unlink()
    assert run("verify", again, "--jobs", "1").code == 1
    mended = run("verify", again, "--repair", "--jobs", "1")
    assert mended.code == 0, mended.err
    for path in (image.relative_to(again).as_posix(), "contact.png"):
        assert f"mended: {path}" in mended.out
    assert files_of(again) == files_of(built.directory)
    (release / "samples.jsonl").unlink()
    refused = run("rebuild", release, "--out", tmp_path / "other")
    assert refused.code == 1
    assert "samples.jsonl: unreadable: No such file" in refused.err
    assert not (tmp_path / "other").exists()
