"""Test the command `verify` with both forms of storage, an export, and a folder of builds."""

from __future__ import annotations

import shutil


def test_export_is_neither_repaired_nor_regenerated(run):
    run.fails("Export the dataset again", "verify good --export there --repair")
    run.fails("Rederive those of its dataset", "verify good --export there --rederive 2")


def test_source_options_require_rederive_or_repair(run):
    option_line = (
        "--source folder:nowhere --labels no.csv --frost-textures none --surrogate no.toml --calibration cifar"
    )
    message = "(rederive or repair in Python): source, labels, frost_textures, surrogate, calibration_side. Add one"
    run.fails(message, f"verify good {option_line}")


def test_both_storage_formats_are_counted_and_reported(run, shared_data):
    events = []
    for form in ("folder", "both"):
        directory = shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage=form)
        output = "Both are checked, and each image counts twice" in run.succeeds("verify", directory).out
        record = run.succeeds("verify --json", directory).json
        assert record["checked"]["bytes"] == sum(p.stat().st_size for p in directory.rglob("*") if p.is_file())
        events.append((output, record["containers"], record["checked"]["images"]))
    images = events[0][2]
    assert events == [(False, ["folder"], images), (True, ["folder", "hdf5"], 2 * images)]


def test_folder_of_builds_lists_them(run, dataset_dir, tmp_path):
    shutil.copytree(dataset_dir, tmp_path / "out" / "first-1.0.0")
    run.fails("Did you mean out/first-1.0.0?", "verify out", code=1)
    shutil.copytree(dataset_dir, tmp_path / "out" / "second-1.0.0")
    for line, code in (("verify out", 1), ("show out", 1), ("export imagefolder out --out x", 1)):
        run.fails("contains 2. Specify one of them: out/first-1.0.0, out/second-1.0.0.", line, code=code)
