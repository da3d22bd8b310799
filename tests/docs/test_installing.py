"""Nothing is released, so every line that installs corruptset or an add-on names the clone."""

from __future__ import annotations

import re
import tomllib

import checkout

ROOT = checkout.ROOT
SUFFIXES = (".md", ".ipynb", ".py", ".toml", ".yml", ".jinja", ".html", "Dockerfile")
HISTORY = ("CHANGELOG.md", "docs/releasing.md")
"""Pages on earlier or coming releases, which may install one."""
LINES = re.compile(r"pip install((?: +(?:-[\w-]+|'[^'\n]+'|[\w./\[\]<>=+-]+))+)")


def installed():
    """Yield the file and each requirement of every ``pip install`` outside of tests."""
    for name in sorted(checkout.checkout_files()):
        if not name.endswith(SUFFIXES) or name in HISTORY or "tests/" in name:
            continue
        for line in LINES.findall((ROOT / name).read_text("utf-8")):
            yield from ((name, word.strip("'")) for word in line.split() if not word.startswith("-"))


def test_docs_do_not_install_corruptset_from_index():
    result = [(name, requirement) for name, requirement in installed() if requirement.startswith("corruptset")]
    assert result == []


def test_documented_extras_and_add_ons_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    visited = set()
    for name, requirement in installed():
        if of_clone := re.fullmatch(r"(?:\.|/path/to/corruptset)\[([a-z,]+)\]", requirement):
            assert set(of_clone[1].split(",")) <= set(extras), (name, requirement)
            visited.add(of_clone[1])
        elif requirement.startswith("./plugins/corruptset-") and not requirement.endswith("*"):
            assert (ROOT / requirement / "pyproject.toml").is_file(), (name, requirement)
            visited.add(requirement)
    assert {"build", "torch", "./plugins/corruptset-cbar"} <= visited
