"""plan, build, verify and show, from the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND
from layouts import files_of

SETS = {"gaussian_noise/1", "fog/3", "contrast/2"}
CHOICE = ["--sets", "gaussian_noise/1,fog/3", "--sets", "contrast/2", "--samples", "3"]


def test_plan_says_what_build_makes_and_writes_nothing(run: Any, built: Any, tmp_path: Path) -> None:
    planned = run("plan", "imagenet-c", *CHOICE, "--json", cwd=tmp_path)
    assert planned.code == 0, planned.err
    assert list(tmp_path.iterdir()) == []
    manifest = json.loads((built.directory / "manifest.json").read_text(encoding="utf-8"))
    assert planned.json["images"] == sum(s["count"] for s in manifest["sets"]) == 9
    estimate, real = planned.json["bytes"], sum(s["bytes"] for s in manifest["sets"])
    assert real / 4 < estimate < real * 4
    text = run("plan", "imagenet-c", *CHOICE, "--list-sets", cwd=tmp_path)
    assert text.code == 0
    for name in SETS:
        assert name in text.out
    assert list(tmp_path.iterdir()) == []


def test_build_ends_by_naming_directory_contact_sheet_page_and_digest(run: Any, built: Any, tmp_path: Path) -> None:
    manifest = json.loads((built.directory / "manifest.json").read_text(encoding="utf-8"))
    ending = [
        f"Directory:     {built.directory}",
        f"Contact sheet: {built.directory / 'contact.png'}",
        f"Page:          {built.directory / 'index.html'}",
        f"Digest:        {manifest['digest']}",
    ]
    assert built.done.out.splitlines()[-4:] == ending
    assert (built.directory / "index.html").is_file()
    without = run("build", "imagenet-c", "--sets", "contrast/2", "--samples", "1", "--no-page", "--out", tmp_path)
    assert "Page:" not in without.out
    assert (built.directory / "contact.png").read_bytes().startswith(b"\x89PNG")
    assert {s["id"] for s in manifest["sets"]} == SETS
    # what was built is on standard output, how it went on standard error
    assert "build: " in built.done.err
    assert "build: " not in built.done.out


def test_verify_and_rederive_a_good_build(run: Any, built: Any) -> None:
    done = run("verify", built.directory, "--rederive", "2", "--jobs", "1")
    assert (done.code, done.err.count("problem")) == (0, 0), done.err
    assert "2 samples made again" in done.out
    assert json.loads((built.directory / "manifest.json").read_text(encoding="utf-8"))["digest"] in done.out
    report = run("verify", built.directory, "--json", "--jobs", "1")
    assert report.code == 0
    assert report.json["ok"] is True
    other = run(
        "verify", built.directory, "--rederive", "1", "--source", f"folder:{built.directory / 'images' / 'fog' / '3'}"
    )
    assert other.code == 2
    assert "not the one" in other.err


def test_verify_names_everything_that_is_wrong_and_leaves_with_one(run: Any, built: Any, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(built.directory, copy)
    images = sorted(p for p in (copy / "images").rglob("*") if p.is_file())
    data = bytearray(images[0].read_bytes())
    data[len(data) // 2] ^= 1
    images[0].write_bytes(data)
    images[1].unlink()
    (copy / "images" / "stray.txt").write_text("here")
    done = run("verify", copy, "--jobs", "1")
    assert done.code == 1
    for path in (images[0], images[1], copy / "images" / "stray.txt"):
        assert path.relative_to(copy).as_posix() in done.out
    report = run("verify", copy, "--json", "--jobs", "1")
    assert report.code == 1
    assert report.json["ok"] is False
    assert {p["path"] for p in report.json["problems"]} >= {p.relative_to(copy).as_posix() for p in images[:2]}


def test_verify_tells_an_incomplete_build(run: Any, built: Any, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(built.directory, copy)
    (copy / "manifest.json").unlink()
    done = run("verify", copy, "--jobs", "1")
    assert done.code == 1
    assert "incomplete" in (done.out + done.err).lower()
    assert run("verify", tmp_path / "nowhere").code in (1, 2)


def test_show_reads_a_finished_build(run: Any, built: Any) -> None:
    text = run("show", built.directory)
    assert text.code == 0, text.err
    digest = json.loads((built.directory / "manifest.json").read_text(encoding="utf-8"))["digest"]
    assert digest in text.out
    shown = run("show", built.directory, "--json").json
    assert shown["digest"] == digest
    assert {s["id"] for s in shown["sets"]} == SETS
    assert shown["images"] == 9


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
    assert other.code == 2
    assert "seed" in other.err
    assert other.json["error"]["kind"] == "BuildError"


def test_corrupt_makes_what_a_build_stores(run: Any, built: Any, tmp_path: Path) -> None:
    samples = [
        json.loads(line) for line in (built.directory / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for name in ("gaussian_noise/1", "fog/3"):
        stored = [
            json.loads(line)
            for line in (built.directory / "sets" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for sample, image in zip(samples[1:2], stored[1:2], strict=True):
            done = run(
                "corrupt",
                f"sample:{sample['id']}",
                name,
                "--recipe",
                "imagenet-c",
                "--out",
                tmp_path / "x.png",
                "--force",
                "--json",
            )
            assert done.json["key"] == sample["id"]
            assert done.json["pixels"] == image["pixels"]
            assert (done.json["width"], done.json["height"]) == (224, 224)


@pytest.mark.ci
def test_an_interrupted_build_stops_says_how_to_resume_and_resumes(run: Any, tmp_path: Path) -> None:
    arguments = ["build", "imagenet-c", "--samples", "4", "--jobs", "2", "--metrics", "1", "--json", "--out"]
    said = tmp_path / "said.txt"
    with said.open("wb") as stderr:
        started = subprocess.Popen(
            [COMMAND, *arguments, tmp_path / "a"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            env={**os.environ},
            # started from a script's background, a process ignores Ctrl-C, and so would its children
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            deadline = time.monotonic() + 120
            # as soon as one of the parts is committed
            while not list(tmp_path.glob("a/imagenet-c-*/.corruptset/parts/*.json")):
                assert started.poll() is None, said.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.01)
            # as a terminal does it: to the command and to its workers
            os.killpg(started.pid, signal.SIGINT)
            out, _ = started.communicate(timeout=60)
        finally:
            if started.poll() is None:
                started.kill()
                started.wait()
    err = said.read_text()
    assert started.returncode == 130, err
    assert json.loads(out)["exit_code"] == 130
    assert "Traceback" not in err
    assert f"corruptset build imagenet-c --samples 4 --jobs 2 --metrics 1 --json --out {tmp_path / 'a'}" in err
    stopped = run("verify", tmp_path / "a" / "imagenet-c-1.1.0")
    assert stopped.code == 1
    assert "incomplete" in stopped.out
    resumed = run(*arguments, tmp_path / "a")
    assert resumed.code == 0, resumed.err
    whole = run(*arguments, tmp_path / "b")
    assert resumed.json["digest"] == whole.json["digest"]
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


@pytest.mark.ci
def test_one_line_from_photographs_to_a_verified_data_set(run: Any, tmp_path: Path) -> None:
    """All sets, of two of the photographs; .ci/run builds them of all eight, by one process and by several."""
    done = run("build", "imagenet-c-all", "--samples", "2", cwd=tmp_path)
    assert done.code == 0, done.err
    (directory,) = (tmp_path / "corruptset-out").iterdir()
    assert f"corruptset-out/{directory.name}" in done.out
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    assert len(manifest["sets"]) == 96
    assert {s["count"] for s in manifest["sets"]} == {2}
    assert sum(p.is_file() for p in (directory / "images").rglob("*")) == 96 * 2
    assert any((directory / "hdf5").rglob("*.h5"))
    checked = run("verify", directory, "--rederive", "all", "--json")
    assert checked.code == 0, checked.out
    assert checked.json["digest"] == manifest["digest"]
    assert "rederive; 2/2" in checked.err


def test_a_release_without_pixels_is_rebuilt_and_a_damaged_build_repaired(run: Any, built: Any, tmp_path: Path) -> None:
    release = tmp_path / "release"
    shutil.copytree(
        built.directory, release, ignore=shutil.ignore_patterns("images", "hdf5", "*.png", "*.md", "LICENSE")
    )
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
    assert f"mended: {image.relative_to(again).as_posix()}" in mended.out
    assert "mended: contact.png" in mended.out
    assert files_of(again) == files_of(built.directory)
    (release / "samples.jsonl").unlink()
    refused = run("rebuild", release, "--out", tmp_path / "other")
    assert refused.code == 1
    assert "samples.jsonl: missing" in refused.err
    assert not (tmp_path / "other").exists()
