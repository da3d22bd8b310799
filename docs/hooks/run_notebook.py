"""Execute docs/tutorial.ipynb and store its outputs in it: ``python docs/hooks/run_notebook.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from corruptset.corruptions.compile_notice import SENTENCE

NOTEBOOK = Path(__file__).parents[1] / "tutorial.ipynb"


def stored() -> nbformat.NotebookNode:
    """Return the stored tutorial with the outputs of its last execution."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(folder: Path) -> nbformat.NotebookNode:
    """Return the tutorial after executing all of its cells in a folder.

    If a cell fails, `CellExecutionError` is raised.
    """
    notebook = stored()
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, record_timing=False).execute()
    # remove execution times, progress bars and warnings, which differ between machines
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                output.get("data", {}).pop("image/png", None)  # the JPEG shows the same image and is ten times smaller
                if "text" in output:
                    output["text"] = output["text"].replace(f"{SENTENCE}\n", "")
            outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            cell.outputs = [out for out in outputs if any([*out.get("data", {}).values(), out.get("text")])]
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        nbformat.write(executed(Path(work)), NOTEBOOK)
