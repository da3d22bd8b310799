"""Test regions on the command line."""

from __future__ import annotations

from PIL import Image
from reference_regions import EXHAUSTIVE, small_images, write_recipe, write_rows


def test_plan_compares_both_storage_formats(run, tmp_path):
    command = ["plan", write_recipe(tmp_path, EXHAUSTIVE), "--source", write_rows(tmp_path / "rows", small_images(4))]
    images = [*command, "--store", "images"]
    output = run.succeeds(*images).out
    for arguments in (
        "(regions of 4 images)",
        "every region as an image: about",
        "(chosen)",
        "whole images and a table of regions: about",
        "(--store table)",
    ):
        assert arguments in output
    plan_record = run.succeeds(*images, "--json").json
    per_image = 7**2 + 9**2 + 4**2 + 6**2
    assert (plan_record["samples"], plan_record["source_images"], plan_record["store"]) == (4 * per_image, 4, "images")
    assert plan_record["images"] == 4 * per_image * len(plan_record["sets"])
    assert plan_record["stores"]["images"] > plan_record["stores"]["table"] > 0
    itself = run.succeeds(*command)
    assert "(--store images)" in itself.out
    assert "Regions are stored as a table" in itself.err + itself.out
    assert run.succeeds(*command, "--json").json["store"] == "table"
    assert run.succeeds("plan cifar10-c --sets contrast/1 --json", *command[2:]).json["store"] is None


def test_sheet_of_regions_is_written(run, tmp_path):
    Image.fromarray(small_images(1)[0]).save(tmp_path / "small.png")
    run.succeeds("preview small.png --regions --out sheet.png")
    line = "preview small.png --recipe location-cifar10 --out embedded.png --json"
    assert run.succeeds(line).json["recipe"] == "location-cifar10"
    with Image.open(tmp_path / "sheet.png") as sheet, Image.open(tmp_path / "embedded.png") as embedded:
        assert sheet.height > embedded.height
    run.fails("has no [regions]", "preview small.png --regions --recipe imagenet-c --out none.png")
