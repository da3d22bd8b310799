"""Run docs/tutorial.ipynb anew and keep its outputs in it: ``python docs/hooks/run_notebook.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from corruptset.corruptions.compile_notice import SENTENCE

NOTEBOOK = Path(__file__).parents[1] / "tutorial.ipynb"


def stored() -> nbformat.NotebookNode:
    """Return the tutorial as it is shipped, with the outputs of its last run."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(folder: Path) -> nbformat.NotebookNode:
    """Return the tutorial, executed in a folder from first cell to last.

    A cell that fails raises `CellExecutionError`.
    """
    notebook = stored()
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, record_timing=False).execute()
    # times, bars and warnings of a machine are nothing to read
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for one in cell.outputs:
                one.get("data", {}).pop("image/png", None)  # the same picture as the JPEG, ten times as large
                if "text" in one:
                    one["text"] = one["text"].replace(f"{SENTENCE}\n", "")
            outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            cell.outputs = [one for one in outputs if any([*one.get("data", {}).values(), one.get("text")])]
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        nbformat.write(executed(Path(work)), NOTEBOOK)
