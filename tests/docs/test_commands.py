"""Every command in the documentation is one that the command line accepts: its name, options and values."""

from __future__ import annotations

import re
import shlex

import checkout
import typer

import corruptset
from corruptset.cli.app import app
from corruptset.generate.sources.source import SCHEMES

PAGES = [
    name
    for name in sorted(checkout.checkout_files())
    if name == "README.md" or (name.startswith(("docs/", "plugins/")) and name.endswith(".md"))
]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"((?:^    .*\n)+)", re.MULTILINE)
SHELL = ("", "sh", "console", "bash")
ADD_ONS = ("calibrate", "pairs-sheet", "pairs-score", "stream", "schedule", "medmnist-score")
"""Commands of the add-ons, which are not installed here."""


def commands(page):
    """Yield the lines of a page that call corruptset, as lists of arguments."""
    text = (checkout.ROOT / page).read_text("utf-8")
    blocks = [block for language, block in FENCED.findall(text) if language in SHELL]
    blocks += INDENTED.findall(FENCED.sub("", text))
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"\$\(\([^)]*\)\)|\$\{?\w+\}?", "1", line)  # numbers that a shell would put there
            line = re.sub(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )*", "", line)
            for part in re.split(r" (?:&&|\||;|>|2>) ", line):
                if part.startswith("corruptset "):
                    yield shlex.split(part, comments=True)[1:]


def mistake(group, arguments):
    """Return what the command line says against some arguments, or None."""
    name, *rest = arguments
    if name.startswith("-"):
        return None
    if name not in group.commands:
        return f"there is no command {name}"
    try:
        group.commands[name].make_context(name, list(rest))
    except Exception as e:
        return None if type(e).__name__ == "Exit" else f"{type(e).__name__}: {e}"
    return None


def test_documented_commands_are_accepted():
    result = [(page, arguments) for page in PAGES for arguments in commands(page)]
    own = [(page, arguments) for page, arguments in result if arguments[0] not in ADD_ONS]
    assert len(own) > 150
    group = typer.main.get_command(app)
    problems = [(page, shlex.join(line), problem) for page, line in own if (problem := mistake(group, line))]
    assert problems == []


def test_documented_recipes_and_sources_exist():
    """A recipe is a shipped one, an alias or a file; a source has a known scheme."""
    recipes = {name for recipe in corruptset.recipes() for name in (recipe.name, *recipe.aliases)} | {"pairs"}
    unknown = []
    for page in PAGES:
        if page == "docs/adding-a-source.md" or page.startswith("plugins/"):  # which add some
            continue
        for name, *rest in commands(page):
            recipe = rest[0] if rest and name in ("build", "plan") and not rest[0].startswith("-") else "pairs"
            if recipe.partition("?")[0] not in recipes and not recipe.endswith(".toml"):
                unknown.append((page, recipe))
            source = rest[rest.index("--source") + 1] if "--source" in rest else "sample"
            if source.partition(":")[0] not in SCHEMES:
                unknown.append((page, source))
    assert unknown == []
