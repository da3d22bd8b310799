"""`corruptset calibrate`: the table is taken by other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_a_table_for_another_size(run: Any, tmp_path: Path) -> None:
    done = run("calibrate", "contrast", "--from", "cifar", "--to", "48", "--metric", "ssim", "--samples", "1", "--json")
    assert done.code == 0
    assert done.json["table"] == "cifar-48.toml"
    assert done.json["deviations"]["contrast"]["calibrated"] < done.json["deviations"]["contrast"]["none"]
    assert (tmp_path / "cifar-48.html").is_file()
    used = run("corrupt", "sample:astronaut", "contrast-2.5", "--calibration", "cifar-48.toml", "--out", "a.png")
    assert used.code == 0
    again = run("calibrate", "contrast", "--from", "cifar", "--to", "48", "--metric", "ssim", "--samples", "1")
    assert again.code == 2
    forced = run("calibrate", "contrast", "--from", "cifar", "--to", "48", "--metric", "ssim", "--samples", "1", "--force")
    assert "cifar-48.toml: 1 corruptions; report: cifar-48.html" in forced.out
