"""docs/adding-a-score.md, followed literally in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from package_copies import copy_package

import corruptset

PAGE = (Path(__file__).parents[2] / "docs/adding-a-score.md").read_text("utf-8")


@pytest.mark.ci
def test_instructions_work_literally(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    copy_package(site)
    function, line, title = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    scores = site / "corruptset/scores"

    def change(name, old, new):
        text = (scores / name).read_text()
        assert text.count(old) == 1
        (scores / name).write_text(text.replace(old, new))

    (scores / "over_sets.py").write_text(f"{(scores / 'over_sets.py').read_text()}\n\n{function}")
    change(
        "score.py", "from .over_sets import group_scores, ", "from .over_sets import group_scores, lowest_accuracy, "
    )
    added = next(row for row in (scores / "score.py").read_text().splitlines() if "measures = clean | means" in row)
    change("score.py", added, f"{added}\n{line}")
    change(
        "records.py", '    "clean_accuracy": "clean accuracy",\n', f'    "clean_accuracy": "clean accuracy",\n{title}'
    )

    result = corruptset.build("imagenet-c", out=tmp_path, sets=["clean", "fog/*"], jobs=1, page=False)
    data, rng = corruptset.open(result.directory), np.random.default_rng(0)
    (tmp_path / "predictions").mkdir()
    record = {"model": "random", "digest": data.digest}
    (tmp_path / "predictions/predictions.json").write_text(json.dumps(record))
    accuracies = []
    for name in data:
        logits = rng.random((len(data[name]), len(data.classes)))
        file = tmp_path / f"predictions/{name}.npz"
        file.parent.mkdir(exist_ok=True)
        np.savez(file, logits=logits)
        accuracies += [] if name == "clean" else [np.mean(logits.argmax(1) == data[name].labels)]
    command = re.findall(r"^corruptset (score .* --json)$", PAGE, re.MULTILINE)[0]
    process = subprocess.run(
        [sys.executable, "-m", "corruptset", *command.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    (score,) = [score for score in json.loads(process.stdout)["scores"] if score["name"] == "lowest_accuracy"]
    assert score["title"] == "lowest accuracy"
    assert score["value"] == pytest.approx(min(accuracies))
    assert score["interval"][0] <= score["value"] <= score["interval"][1]
