"""Every link of a file in the repository leads to a file in the repository, and to a heading that it has."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import checkout

ROOT = checkout.ROOT
FILES = set(checkout.checkout_files())
PAGES = [name for name in sorted(FILES) if name.endswith((".md", ".ipynb")) and not name.startswith("tests/")]
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINKS = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)[^)]*\)|^\[[^\]]+\]:\s+(\S+)|(?:href|src)=\"([^\"]+)\"", re.MULTILINE)


def markdown(page):
    """Return the text that is shown: of a notebook, that of its cells of text."""
    text = page.read_text("utf-8")
    if page.suffix == ".ipynb":
        return "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        )
    return text


def anchors(page):
    """Return what a page's headings are called in links, by GitHub's rules."""
    headings = re.findall(
        r"^#+ +(.*?) *$", re.sub(r"^```.*?^```", "", markdown(page), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in titles}


def dead(page):
    """Return the links of a page that lead to no file of the repository, or to no heading of one."""
    problems = []
    for match in LINKS.finditer(CODE.sub("", markdown(page))):
        link = next(filter(None, match.groups()))
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or target.relative_to(ROOT).as_posix() not in FILES:
            problems.append(f"{link}: no file of the repository")
        elif anchor and anchor not in anchors(target):
            problems.append(f"{link}: no such heading")
    return problems


def test_links_point_to_files_of_repository():
    assert {name: problems for name in PAGES if (problems := dead(ROOT / name))} == {}
