"""Site hook: a page for each command: what docs/command-line.md says of it, and its options as the command itself has
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from mkdocs.structure.files import File, Files

from corruptset.cli.app import app

PAGE = "command-line.md"
SECTION = re.compile(r"^## `corruptset ([a-z-]+) ?([^`]*)`\n(.*?)(?=^## |\Z)", re.M | re.S)
DOCUMENT = re.compile(r"\bdocs/([a-z-]+)\.md")
"""A page of the documentation, as helps name it."""


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add the pages; a link of theirs into docs/ leads one folder up."""
    group = typer.main.get_command(app)
    for name, argument, text in SECTION.findall((Path(config.docs_dir) / PAGE).read_text("utf-8")):
        text = re.sub(r"\]\((?!https?:|#)", "](../", text)
        rows = "\n".join(_rows(group.commands[name]))  # type: ignore[attr-defined]
        content = f"# `corruptset {name}{argument and ' ' + argument}`\n{text}\n## Options\n\n{rows}\n"
        files.append(File.generated(config, f"commands/{name}.md", content=content))


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Leave what all commands share on their common page, and lead links to a command to its page."""
    text = (Path(config.docs_dir) / PAGE).read_text("utf-8")
    if page.file.src_uri == PAGE:
        markdown = SECTION.sub("", markdown)
    for name, argument, _ in SECTION.findall(text):
        anchor = re.sub(r"[^\w-]", "", f"corruptset {name} {argument}".strip().lower().replace(" ", "-"))
        markdown = re.sub(rf"\]\(((?:\.\./)?){PAGE}#{anchor}\)", rf"](\1commands/{name}.md)", markdown)
        markdown = markdown.replace(f"](#{anchor})", f"](commands/{name}.md)")
    return markdown


def _rows(command: Any) -> Iterator[str]:
    """Yield the table of a command's options."""
    yield "| option | default | meaning |\n|---|---|---|"
    for option in command.params:
        if option.param_type_name == "option" and option.name != "help":
            words = sorted(
                [*option.opts, *option.secondary_opts], key=lambda word: (word in option.secondary_opts, -len(word))
            )
            # typer before 0.28 says it elsewhere
            kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
            value = option.metavar or ("|".join(get_args(kind)) if get_origin(kind) is Literal else option.name.upper())
            default = (
                ""
                if option.is_flag or option.default is None
                else f"`{getattr(option.default, 'value', option.default)}`"
            )
            names = ", ".join(
                [f"`{words[0]}{'' if option.is_flag else ' ' + value}`", *(f"`{word}`" for word in words[1:])]
            )
            meaning = DOCUMENT.sub(r"[\1](../\1.md)", option.help or "")
            yield f"| {names} | {default} | {meaning.replace('|', '&#124;')} |"
