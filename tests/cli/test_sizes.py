"""Test that plan, build, show and verify report the size of the files on the disk."""

from __future__ import annotations

import re

import pytest
import source_archives

from corruptset.quantities import size

SETS = "gaussian_noise/[15],fog/3,contrast/5,pixelate/4"


def disk_usage(root):
    return sum(p.stat().st_size for p in root.rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def cifar(tmp_path_factory):
    path = tmp_path_factory.mktemp("cifar") / "cifar-10-python.tar.gz"
    source_archives.write_tar(path, source_archives.cifar10_python(source_archives.random_crops(90)), "w:gz")
    return f"cifar10-c --source cifar10:{path}"


@pytest.mark.parametrize(
    ("asked", "sets"),
    [
        pytest.param("imagenet-c --samples 3 --storage both", SETS, marks=pytest.mark.ci),
        pytest.param("CIFAR --first 40 --storage hdf5", SETS, marks=pytest.mark.ci),
    ],
)
def test_all_commands_report_size_on_disk(run, cifar, tmp_path, asked, sets):
    asked = f"{asked.replace('CIFAR', cifar)} --sets {sets} --jobs 1"
    plan_record, message = run.succeeds(f"plan --json {asked}").json, run.succeeds(f"plan {asked}").out
    output = run.succeeds(f"build --out sets {asked}").out
    (root,) = (tmp_path / "sets").iterdir()
    actual_bytes = disk_usage(root)
    assert abs(plan_record["bytes"] / actual_bytes - 1) < 0.15, (plan_record["bytes"], actual_bytes)
    assert re.search(r"about [\d.]+ [kM]B(| \(within .*\)) on disk", message)
    for text in (output, run.succeeds("show", root).out):
        assert re.search(rf"^Size: +{size(actual_bytes)}$", text, re.MULTILINE)
    assert f"{size(actual_bytes)} on disk" in run.succeeds("verify", root).out
    assert run.succeeds(f"build --out sets --json {asked}").json["bytes"] == actual_bytes
    assert sorted(plan_record["alone"]) == ["folder", "hdf5"] * ("--samples" in asked)
    for text in (message, output):
        assert ("Every image is stored twice" in text) == bool(plan_record["alone"])
    for form, estimate in plan_record["alone"].items():
        run.succeeds(f"build {asked} --out {form} --storage {form}")
        assert abs(estimate / disk_usage(tmp_path / form) - 1) < 0.15, form
        assert f"--storage {form} alone takes about " in message


def test_partial_estimate_states_its_precision(run, cifar):
    command = f"plan {cifar} --sets contrast/3 --storage folder"
    plan_record = run.succeeds(f"{command} --json").json
    assert (plan_record["samples"], plan_record["looked_at"]) == (90, 16)
    assert 0 < plan_record["deviation"] < 0.2
    assert ", from 16 of the samples)" in run.succeeds(command).out
