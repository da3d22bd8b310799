"""DATASETS.md lists the revision of every corruption and the version of every recipe."""

from __future__ import annotations

import re

import checkout

import corruptset
from corruptset.corruptions.registry import get_corruption

PAGE = (checkout.ROOT / "DATASETS.md").read_text("utf-8")


def rows(heading):
    """Return the cells of the rows of the table below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines[1:]]


def test_documented_revisions_match_registry():
    documented = {
        name: (family, int(revision))
        for family, revision, names in rows("Revisions of corruptions")
        for name in re.findall("`([a-z_]+)`", names)
    }
    registered = map(get_corruption, corruptset.names())
    assert documented == {declared.name: (declared.family, declared.revision) for declared in registered}


def test_documented_versions_match_recipes():
    documented = {
        name: version for version, names in rows("Versions of recipes") for name in re.findall("`([a-z0-9-]+)`", names)
    }
    assert documented == {recipe.name: recipe.version for recipe in corruptset.recipes()}
