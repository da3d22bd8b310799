"""Site hook: the root's CHANGELOG.md and DATASETS.md are pages of the site, and links to them stay links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGES = {"CHANGELOG.md": "changes.md", "DATASETS.md": "datasets.md"}
"""File of the repository's root -> page of the site."""


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add the two pages; their links into docs/ become links between pages."""
    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        text = (root / name).read_text("utf-8").replace("](docs/", "](")
        for other, place in PAGES.items():
            text = text.replace(f"]({other}", f"]({place}")
        files.append(File.generated(config, page, content=text))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's text with links to the root's files as links to their pages."""
    for name, page in PAGES.items():
        markdown = markdown.replace(f"](../{name}", f"]({page}")
    return markdown
