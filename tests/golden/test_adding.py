"""docs/adding-a-corruption.md, followed literally in a copy of the package.

Three files change, and everything else finds them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corruptset
from corruptset import corruptions

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "adding-a-corruption.md").read_text(encoding="utf-8")
FILES = {
    "corruptset/corruptions/digital/vignette.py",
    "corruptset/corruptions/tables/imagenet.toml",
    "tests/golden/digests.json",
}


def block(language: str) -> str:
    """Return the page's first example in a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def site(tmp_path):
    """Return a folder with a copy of the package and its tests, as installed."""
    unneeded = shutil.ignore_patterns("__pycache__", "manifests", "generate", "scores", "cli")
    shutil.copytree(Path(corruptset.__file__).parent, tmp_path / "corruptset", ignore=unneeded)
    shutil.copytree(
        Path(corruptions.__file__).parent, tmp_path / "corruptset" / "corruptions", ignore=unneeded, dirs_exist_ok=True
    )
    (tmp_path / "tests" / "corruptions").mkdir(parents=True)
    shutil.copytree(TESTS / "golden", tmp_path / "tests" / "golden", ignore=unneeded)
    for name in ("__init__.py", "pictures.py", "surrogates.py", "corruptions/test_properties.py"):
        shutil.copy(TESTS / name, tmp_path / "tests" / name)
    return tmp_path


def contents(site: Path) -> dict[str, bytes]:
    return {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}


@pytest.mark.ci
def test_the_page_is_followed_literally(site, tmp_path_factory):
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["CORRUPTSET_CACHE"] = str(tmp_path_factory.mktemp("cache"))

    def python(*arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], cwd=site, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    before = contents(site)
    (site / "corruptset/corruptions/digital/vignette.py").write_text(block("python"))
    _, source, rows = re.split(r"\[sources\]\n|\n\n", block("toml"), maxsplit=2)
    table = site / "corruptset/corruptions/tables/imagenet.toml"
    table.write_text(table.read_text().replace("[sources]\n", f"[sources]\n{source}\n") + "\n" + rows)
    assert python("-m", "tests.golden", "--write", "vignette").startswith("1 of 1 corruptions had new digests")
    after = contents(site)
    assert {name for name in after if after[name] != before.get(name)} == FILES
    recorded = json.loads(after["tests/golden/digests.json"])
    assert [len(digests) for digests in recorded.pop("vignette")["digests"].values()] == [rows.count("severity")]
    assert recorded == json.loads(before["tests/golden/digests.json"])
    assert python("-m", "tests.golden", "vignette") == f"{rows.count('severity')} digests equal\n"
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "-k",
        "vignette",
        "-o",
        "markers=ci: \nlong: ",
        "-o",
        "pythonpath=tests",
    )
    assert re.search(
        r"^1 passed", python("-m", "pytest", *options, "tests/corruptions/test_properties.py"), re.MULTILINE
    )
