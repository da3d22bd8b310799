"""Test the command `corruptset page`."""

from __future__ import annotations

import shutil


def test_page_is_written_next_to_dataset(dataset_dir, shared_data, run, tmp_path, monkeypatch):
    copy = shutil.copytree(dataset_dir, tmp_path / dataset_dir.name)
    for place in (copy, "."):
        monkeypatch.chdir(copy)
        result = run.succeeds("page", place, "--source", f"folder:{shared_data.crops(classes=2)}")
        page = tmp_path / f"{dataset_dir.name}.html"
        assert str(page) in result.out
        assert page.read_bytes().startswith(b"<!DOCTYPE html>")
        page.unlink()
    run.succeeds("verify", copy)


def test_page_can_be_written_elsewhere_and_described_as_json(dataset_dir, run, tmp_path):
    answer = run.succeeds("page --out page.html --json", dataset_dir).json
    assert (answer["ok"], answer["clean"], answer["bytes"]) == (True, False, (tmp_path / "page.html").stat().st_size)
    assert not (dataset_dir / "index.html").exists()
    assert "no clean images" in run.succeeds("page --out page.html", dataset_dir).out
    run.fails("page.html/page.html cannot be written", "page --out page.html/page.html", dataset_dir, code=3)
