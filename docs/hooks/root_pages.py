"""Site hook that adds files of the repository's root, add-on READMEs and the tutorial notebook as pages.

Links to these files are replaced by links to their pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

PAGES = {"CHANGELOG.md": "changes.md", "DATASETS.md": "datasets.md", "CONTRIBUTING.md": "contributing.md"}
"""File in the repository's root -> page of the site."""
SHOWN = {f"../{name}": page for name, page in PAGES.items()} | {
    "../api/__init__.py": "api.md",
    "tutorial.ipynb": "notebook.md",
}
"""Target of a link -> the page of the site that shows it."""


HEAD = "[Download this notebook](tutorial.ipynb){ .md-button download }\n\n"


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add the pages, and replace their links into docs/ by links between pages."""
    _add_notebook(files, config)
    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        text = (root / name).read_text("utf-8").replace("](docs/", "](")
        for other, place in PAGES.items():
            text = text.replace(f"]({other}", f"]({place}")
        text = re.sub(r"\]\(plugins/corruptset-(\w+)/README\.md", r"](add-ons/\1.md", text)
        files.append(File.generated(config, page, content=text))
    for readme in sorted(root.glob("plugins/*/README.md")):
        name = readme.parent.name.removeprefix("corruptset-")
        files.append(
            File.generated(
                config, f"add-ons/{name}.md", content=readme.read_text("utf-8").replace("](../../docs/", "](../")
            )
        )
        for image in sorted(readme.parent.glob("*.jpg")):
            files.append(File.generated(config, f"add-ons/{image.name}", content=image.read_bytes()))


def _add_notebook(files: Files, config: Any) -> None:
    """Add notebook.md, with the stored outputs and images of the notebook."""
    notebook = nbformat.read(Path(config.docs_dir, "tutorial.ipynb"), as_version=4)
    text, resources = MarkdownExporter().from_notebook_node(notebook)
    title, _, rest = text.lstrip().partition("\n")
    for name, content in resources["outputs"].items():
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, "notebook.md", content=f"{title}\n\n{HEAD}{rest}"))


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the text of a page, in which links to files are replaced by links to their pages."""
    for name, shown in SHOWN.items():
        if page.file.src_uri != shown:  # the notebook's page has the file to download
            markdown = markdown.replace(f"]({name}", f"]({shown}")
    return re.sub(r"\]\(\.\./plugins/corruptset-(\w+)/README\.md", r"](add-ons/\1.md", markdown)
