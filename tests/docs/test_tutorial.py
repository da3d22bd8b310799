"""The tutorial, as a page and as a notebook: its lines run as a reader types them, and print what stands there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from doc_pages import blocks, shell

from corruptset.scores.scores_file import load_scores

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.ci
def test_page_runs_from_start_to_end(tmp_path):
    outputs = []
    for kind, text in blocks(DOCS / "tutorial.md"):
        if kind == "python":
            (tmp_path / "predict.py").write_text(text, "utf-8")
        else:
            outputs += [(line, shell(line, tmp_path)) for line in text.splitlines()]
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "corruptset-out/imagenet-c-1.1.0/index.html").is_file()
    (ending,) = [out.splitlines()[-4:] for line, out in outputs if line.startswith("corruptset build")]
    assert [line.partition(":")[0] for line in ending] == ["Directory", "Contact sheet", "Page", "Digest"]
    assert "colours" in outputs[-1][1]
    assert int(re.search(r"Images: +(\d+)", outputs[-1][1])[1]) > 20
    page = (DOCS / "tutorial.md").read_text("utf-8")
    columns = re.search(r"^\| \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
    for model in ("thumbnail", "colours"):
        cells = re.search(rf"^\| {model} \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
        # AUDE of each corruption in per cent
        aude = load_scores(tmp_path / "scores" / model).values("aude")
        assert dict(zip(columns, cells, strict=True)) == {name: f"{100 * value:.1f}" for name, value in aude.items()}


@pytest.mark.ci
def test_notebook_runs_and_prints_stored_output(tmp_path):
    spec = importlib.util.spec_from_file_location("run_notebook", DOCS / "hooks/run_notebook.py")
    run_notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run_notebook)
    stored_notebook = run_notebook.stored()
    result = run_notebook.executed(tmp_path)
    assert printed(result) == printed(stored_notebook)
    assert (
        sum(
            "image/jpeg" in job_result.get("data", {})
            for cell in result.cells
            for job_result in cell.get("outputs", ())
        )
        == 2
    )


def printed(notebook):
    """Return what every cell prints."""
    return ["".join(item.get("text", "") for item in cell.get("outputs", ())) for cell in notebook.cells]
