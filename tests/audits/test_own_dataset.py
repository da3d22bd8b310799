"""Audits of datasets that corruptset built and whose files were changed afterwards."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import corrupted_copies
import pytest
import small_builds
from PIL import Image
from plugin_files import without_plugins, write_blinds

import corruptset

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    return corrupted_copies.write_folder_source(tmp_path_factory.mktemp("photographs"))


@pytest.fixture(scope="module")
def built(photographs, tmp_path_factory):
    out = tmp_path_factory.mktemp("built")
    return corruptset.build("imagenet-c", photographs, out, sets=["clean", "contrast/1"], progress=False).directory


@pytest.fixture
def copy(built, tmp_path):
    return shutil.copytree(built, tmp_path / "copy")


def codes(audited):
    return [finding.code for finding in audited.findings]


def run_command(*arguments):
    return subprocess.run([sys.executable, "-m", "corruptset", *arguments], capture_output=True, text=True)


def save_again(folder, quality, count=None):
    for path in sorted(folder.rglob("*.JPEG"))[:count]:
        Image.open(path).save(path, quality=quality)


def test_manifest_folder_and_images_give_same_result(copy, photographs):
    audit = corruptset.audit(copy, photographs)
    alone = corruptset.audit(copy / "images", photographs)
    assert {set_id: audited.verdict for set_id, audited in audit.sets.items()} == {
        "clean": "same_pixels",
        "contrast/1": "same_pixels",
    }
    assert audit.sets == alone.sets
    assert audit.findings == alone.findings
    assert [finding.code for finding in audit.findings] == ["missing_sets", "missing_sets"]
    assert "14 of the 15 corruptions" in audit.findings[0].text


def test_files_that_became_larger_and_damaged_files_are_findings(copy, photographs):
    save_again(copy / "images", 95)
    next((copy / "images/contrast/1").rglob("val_0003.JPEG")).write_bytes(b"not an image")
    next((copy / "images/contrast/1").rglob("val_0004.JPEG")).unlink()
    audit = corruptset.audit(copy, photographs)
    assert audit.sets["clean"].encoding == "JPEG quality 95, 4:2:0"
    assert codes(audit.sets["clean"]) == ["reencoded"]
    assert codes(audit.sets["contrast/1"]) == ["unreadable_images", "reencoded"]
    assert "2 of the inspected images cannot be read" in audit.sets["contrast/1"].findings[0].text
    assert audit.sets["contrast/1"].verdict == "same_pixels"


def test_a_few_files_with_another_encoding_are_counted(copy, photographs):
    save_again(copy / "images/contrast/1", 60, count=3)
    audit = corruptset.audit(copy, photographs, samples=4)
    (finding,) = audit.sets["contrast/1"].findings
    assert audit.sets["contrast/1"].verdict == "same_pixels"
    assert finding.text.startswith("3 of the 8 images whose files were inspected are stored as JPEG quality 60, 4:2:0,")
    assert f"`corruptset verify {copy} --repair --source SOURCE`" in finding.text
    assert not audit.sets["clean"].findings
    alone = corruptset.audit(copy / "images")
    assert alone.sets["contrast/1"].findings[0].text.startswith("3 of the 8 images")
    assert codes(alone.sets["clean"]) == ["missing_images"]


def test_files_that_were_stored_a_second_time_with_the_same_quality_are_found(copy, photographs):
    save_again(copy / "images/clean", 85)
    save_again(copy / "images/contrast/1", 85, count=4)
    for folder in (copy, copy / "images"):
        audit = corruptset.audit(folder, photographs)
        assert {audited.verdict for audited in audit.sets.values()} == {"same_pixels"}
        assert [codes(audited) for audited in audit.sets.values()] == [["reencoded"], ["reencoded"]]
        assert "All 8 compared images" in audit.sets["clean"].findings[0].text
        assert "of the 8 images were decoded and stored as JPEG quality 85" in audit.sets["contrast/1"].findings[0].text


@pytest.fixture
def plugin_build(photographs, tmp_path):
    with without_plugins():
        write_blinds(tmp_path)
        sets = '[[sets]]\ncorruptions = ["blinds"]\nseverities = [2, 5]\n'
        recipe = small_builds.write_recipe(tmp_path, name="blinds-c", more=sets)
        recipe.write_text('plugins = ["mine.py"]\n' + recipe.read_text())
        options = {"jobs": 1, "metrics": 0, "page": False, "any_shape": True, "progress": False}
        yield corruptset.build(recipe, photographs, tmp_path / "out", **options).directory


def test_corruptions_of_plugin_need_it(plugin_build, photographs, tmp_path):
    arguments = ["audit", str(plugin_build), "--source", photographs, "--json"]
    refused = run_command(*arguments)
    assert refused.returncode == 2
    assert "contains blinds, which mine defines. Pass the plugin" in json.loads(refused.stdout)["error"]["message"]
    accepted = run_command(*arguments, "--jobs", "2", "--plugin", str(tmp_path / "mine.py"))
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    sets = json.loads(accepted.stdout)["sets"]
    assert {set_id: audited["verdict"] for set_id, audited in sets.items()} == {
        "blinds/2": "same_pixels",
        "blinds/5": "same_pixels",
    }
