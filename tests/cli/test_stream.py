"""`corruptset stream`: the grid's recipe, and what is missing; a whole stream by the command is in tests/generate/streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams import RECIPE, made_accuracies, small_stream

from corruptset.generate.recipes.recipe import load_recipe


def test_a_grid_then_a_stream(run: Any, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(RECIPE)
    done = run("stream", "small.toml", "--grid", "grid.toml", "--json")
    assert (done.code, done.json["sets"]) == (0, 1240)
    assert load_recipe(tmp_path / "grid.toml").name == "small-grid"
    missing = run("stream", "small.toml")
    assert missing.code == 2
    assert "--accuracies FILE is missing" in missing.err
    rows = "".join(f"{name},{value}\n" for name, value in made_accuracies(small_stream()).items())
    (tmp_path / "a.csv").write_text("set,accuracy\n" + rows)
    options = ("--accuracies", "a.csv", "--speed", "2", "--length", "5", "--samples", "2", "--out", "o", "--jobs", "1")
    done = run("stream", "small.toml", *options, "--json")
    assert (done.code, done.json["images"], done.json["made"], done.json["steps"], done.json["tars"]) == (0, 5, 5, 3, 1)
    assert Path(done.json["directory"]).name == "baseline_35_transition+speed_2_seed_0"
    again = run("stream", "small.toml", *options)
    assert "5 images in 3 steps, 1 tars" in again.out
    assert done.json["digest"] in again.out
    assert run("stream", "small.toml", *options[:-2], "--speed", "0").code == 2
    directory = Path(done.json["directory"])
    verified = run("verify", directory)
    assert verified.code == 0
    assert "verified (2 samples, 4 files, 5 images," in verified.out
    shown = run("show", directory)
    assert all(text in shown.out for text in ("small 0.1", done.json["digest"], "5 images in 3 steps of 2, of ", "1 tars"))
    (directory / "serial_00000.tar").unlink()
    verified = run("verify", directory)
    assert verified.code == 1
    assert "missing: serial_00000.tar" in verified.out
    (directory / "stream.json").write_text("[]")
    assert run("show", directory).code == 1
