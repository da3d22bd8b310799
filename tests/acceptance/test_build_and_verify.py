"""plan, build, verify, show, rebuild and repair, from the command line."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import commands
import pytest
from small_builds import read_files

SETS = {"gaussian_noise/1", "fog/3", "contrast/2"}
CHOICE = ["imagenet-c", "--sets", "gaussian_noise/1,fog/3", "--sets", "contrast/2", "--samples", "3"]
ONE = ["--jobs", "1"]
Run = commands.CommandServer


def manifest(directory):
    return json.loads((directory / "manifest.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def build(run, tmp_path_factory):
    """A build of three sets of three photographs, with its options."""
    return run.succeeds("build", *CHOICE, *ONE, "--metrics", "1", "--out", tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def dataset_dir(build):
    return Path(build.out.splitlines()[-4].partition(":")[2].strip())


def test_build_matches_plan_and_names_parts(run, build, dataset_dir):
    result = manifest(dataset_dir)
    plan_record = run.fails("", "plan", *CHOICE, "--json", code=0).json
    assert plan_record["images"] == sum(s["count"] for s in result["sets"]) == 9
    assert build.out.splitlines()[-4:] == [
        f"Directory:     {dataset_dir}",
        f"Contact sheet: {dataset_dir / 'contact.png'}",
        f"Page:          {dataset_dir / 'index.html'}",
        f"Digest:        {result['digest']}",
    ]
    # the result is on standard output, the progress on standard error
    assert ("build: " in build.out, "build: " in build.err) == (False, True)
    record = run.succeeds("show", dataset_dir, "--json").json
    assert (record["digest"], {s["id"] for s in record["sets"]}, record["images"]) == (result["digest"], SETS, 9)
    # `corrupt` computes the pixels that a build stores
    sample = json.loads((dataset_dir / "samples.jsonl").read_text("utf-8").splitlines()[1])
    stored = json.loads((dataset_dir / "sets/gaussian_noise/1.jsonl").read_text("utf-8").splitlines()[1])
    arguments = f"corrupt sample:{sample['id']} gaussian_noise/1 --recipe imagenet-c --json --out x.png"
    corrupt_record = run.succeeds(*arguments.split()).json
    assert (corrupt_record["key"], corrupt_record["pixels"], corrupt_record["width"]) == (
        sample["id"],
        stored["pixels"],
        224,
    )


def test_verify_names_problems_and_repair_fixes_them(run, dataset_dir, tmp_path):
    assert "2 samples rederived from the source" in run.succeeds("verify", dataset_dir, "--rederive", "2", *ONE).out
    run.fails(
        "This is not the source from which",
        "verify",
        dataset_dir,
        "--rederive",
        "1",
        "--source",
        f"folder:{dataset_dir}/images/fog/3",
    )
    copy = tmp_path / "copy"
    shutil.copytree(dataset_dir, copy)
    changed, gone, *_ = sorted((copy / "images").rglob("*.JPEG"))
    changed.write_bytes(changed.read_bytes()[:-5])
    gone.unlink()
    stray = copy / "images" / "stray.txt"
    stray.write_text("here")
    invalid = {path.relative_to(copy).as_posix() for path in (changed, gone, stray)}
    output = run.fails("3 problems", "verify", copy, *ONE, code=1).out
    assert all(path in output for path in invalid)
    report = run.fails("", "verify", copy, "--json", *ONE, code=1).json
    assert (report["ok"], {p["path"] for p in report["problems"]}) == (False, invalid)
    stray.unlink()
    mended = run.succeeds("verify", copy, "--repair", *ONE).out
    assert all(f"repaired: {path.relative_to(copy)}" in mended for path in (changed, gone))
    assert read_files(copy) == read_files(dataset_dir)
    (copy / "manifest.json").unlink()
    run.fails("incomplete", "verify", copy, *ONE, code=1)


@pytest.mark.ci
def test_extension_creates_new_dataset_and_rejects_different_seed(run, tmp_path):
    both = "contrast/2,pixelate/5"
    one = ["build", "imagenet-c", "--samples", "2", *ONE, "--metrics", "1", "--no-page", "--json", "--sets"]
    first, combined = (
        run.succeeds(*one, sets, "--out", tmp_path / out).json for sets, out in (("contrast/2", "a"), (both, "b"))
    )
    result = run.fails("is a finished dataset, which is never changed", *one, both, "--out", tmp_path / "a")
    (command,) = re.findall(r"^  corruptset (.*)$", result.err, re.M)
    more = run.succeeds(*shlex.split(command)).json
    assert more["digest"] == combined["digest"] != first["digest"]
    # the number that this command built, not that of all images
    assert [result["images"] for result in (first, more, combined)] == [2, 2, 4]
    assert read_files(tmp_path / "a/extended") == read_files(tmp_path / "b")
    other = run.fails("seed", *one, both, "--out", tmp_path / "a", "--seed", "1")
    assert (other.json["error"]["kind"], first["page"]) == ("BuildError", None)


@pytest.mark.ci
def test_release_without_pixels_can_be_rebuilt(run, dataset_dir, tmp_path):
    release, out = tmp_path / "release", tmp_path / "out"
    shutil.copytree(dataset_dir, release, ignore=shutil.ignore_patterns("images", "hdf5", "*.png", "*.md", "LICENSE"))
    result = run.succeeds("rebuild", release / "manifest.json", "--out", out, *ONE)
    assert "Every file is identical to the one that the manifest lists." in result.out
    assert read_files(out / dataset_dir.name) == read_files(dataset_dir)
    (release / "samples.jsonl").unlink()
    run.fails("samples.jsonl: unreadable: No such file", "rebuild", release, "--out", tmp_path / "other", code=1)
    assert not (tmp_path / "other").exists()
