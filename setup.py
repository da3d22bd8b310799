"""What pyproject.toml cannot say: the links of the package index, and the README with links that work there.

The package's home is stated once, as `repository-code` in CITATION.cff. Until it is stated there are no links, and none is made up: the
README keeps its text, and its pictures are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n?", re.MULTILINE)
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")


def home(citation: str) -> str | None:
    """Return where the repository is read, without a slash at the end; None where it is not stated."""
    stated = re.search(r"^repository-code: *[\"']?(https://[^\s\"']+?)/?[\"']?$", citation, re.MULTILINE)
    return stated[1] if stated else None


def description(readme: str, repository: str | None, version: str) -> str:
    """Return README.md as the package index shows it: every link is absolute, and of this version."""
    if repository is None:
        return RELATIVE.sub(r"\2", PICTURE.sub("", readme))
    return RELATIVE.sub(lambda m: f"{m[1]}[{m[2]}]({repository}/{'raw' if m[1] else 'blob'}/v{version}/{m[3]})", readme)


def links(repository: str | None, version: str) -> dict[str, str]:
    """Return the links beside the description."""
    if repository is None:
        return {}
    files = f"{repository}/blob/v{version}"
    return {
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Documentation": f"{files}/docs/command-line.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Output bytes": f"{files}/DATASETS.md",
    }


def index_page() -> dict[str, object]:
    """Return these fields of the package's metadata."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    repository = home((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = description((ROOT / "README.md").read_text(encoding="utf-8"), repository, version)
    return {"long_description": text, "long_description_content_type": "text/markdown", "project_urls": links(repository, version)}


if __name__ == "__main__":
    from setuptools import setup

    setup(**index_page())
