"""Site hook that generates a page for each command, with a table of its options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from mkdocs.structure.files import File, Files

from corruptset.cli.app import app

PAGE = "command-line.md"
SECTION = re.compile(r"^## `corruptset ([a-z-]+) ?([^`]*)`\n(.*?)(?=^## |\Z)", re.M | re.S)
DOCUMENT = re.compile(r"\bdocs/([a-z-]+)\.md")
"""The path of a page of the documentation in help texts."""


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add the pages. Their links to pages in docs/ get the prefix ``../``."""
    group = typer.main.get_command(app)
    for name, argument, text in SECTION.findall((Path(config.docs_dir) / PAGE).read_text("utf-8")):
        text = re.sub(r"\]\((?!https?:|#)", "](../", text)
        command = group.commands[name]  # type: ignore[attr-defined]
        content = f"# `corruptset {name}{argument and ' ' + argument}`\n{text}\n## Options\n\n{_tables(command)}"
        files.append(File.generated(config, f"commands/{name}.md", content=content))


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Remove the sections of single commands from the common page, and replace links to them."""
    text = (Path(config.docs_dir) / PAGE).read_text("utf-8")
    if page.file.src_uri == PAGE:
        markdown = SECTION.sub("", markdown)
    folder = "" if page.file.src_uri.startswith("commands/") else "commands/"
    for name, argument, _ in SECTION.findall(text):
        anchor = re.sub(r"[^\w-]", "", f"corruptset {name} {argument}".strip().lower().replace(" ", "-"))
        markdown = re.sub(rf"\]\(((?:\.\./)?){PAGE}#{anchor}\)", rf"](\1commands/{name}.md)", markdown)
        markdown = markdown.replace(f"](#{anchor})", f"]({folder}{name}.md)")
    return markdown


def _tables(command: Any) -> str:
    """Return a table of options for each panel of a command's help."""
    panels: dict[str, list[str]] = {}
    for option in command.params:
        if option.param_type_name == "option":
            names, meaning = option.get_help_record(typer.Context(command))
            meaning = DOCUMENT.sub(r"[\1](../\1.md)", meaning).replace("  [", " [").replace("|", "&#124;")
            rows = panels.setdefault(option.rich_help_panel or "Options", [])
            rows.append(f"| `{names}` | {meaning} |\n")
    return "\n".join(
        f"| {panel} | meaning |\n|---|---|\n{''.join(panels[panel])}" for panel in sorted(panels, key=_first)
    )


def _first(panel: str) -> bool:
    """Return the sorting key of a panel, which puts "Options" first and keeps the order of the others."""
    return panel != "Options"
