"""Site hook: tutorial.ipynb is a page, with the outputs that it was stored with, and stays a file to download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

HEAD = "[Download this notebook](tutorial.ipynb){ .md-button download }\n\n"


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add notebook.md and the pictures of its outputs."""
    notebook = nbformat.read(Path(config.docs_dir, "tutorial.ipynb"), as_version=4)
    text, resources = MarkdownExporter().from_notebook_node(notebook)
    title, _, rest = text.lstrip().partition("\n")
    for name, content in resources["outputs"].items():
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, "notebook.md", content=f"{title}\n\n{HEAD}{rest}"))
