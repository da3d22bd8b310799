"""docs/adding-a-corruption.md, followed literally in a copy of the package.

Four files change, and everything else finds them.
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
from package_copies import copy_package

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "adding-a-corruption.md").read_text(encoding="utf-8")
FILES = {
    "corruptset/corruptions/digital/gamma.py",
    "corruptset/corruptions/index.py",
    "corruptset/corruptions/tables/imagenet.toml",
    "tests/golden/digests.json",
}


def blocks(language: str) -> list[str]:
    """Return the page's examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.ci
def test_instructions_work_literally(tmp_path, tmp_path_factory):
    site, corruptions = tmp_path, "corruptset/corruptions"
    copy_package(site, ("corruptions",))
    shutil.copytree(TESTS / "golden", site / "tests/golden", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "tests/corruptions").mkdir()
    for name in ("__init__.py", "example_images.py", "surrogates.py", "corruptions/test_properties.py"):
        shutil.copy(TESTS / name, site / "tests" / name)
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["CORRUPTSET_CACHE"] = str(tmp_path_factory.mktemp("cache"))

    def python(*arguments: str) -> str:
        result = subprocess.run([sys.executable, *arguments], cwd=site, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def contents() -> dict[str, bytes]:
        return {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}

    before = contents()
    function, line = blocks("python")
    (site / corruptions / "digital/gamma.py").write_text(function)
    index, following = site / corruptions / "index.py", '    "inverse": '
    index.write_text(index.read_text().replace(following, line + following))
    _, source, rows = re.split(r"\[sources\]\n|\n\n", blocks("toml")[0], maxsplit=2)
    table = site / corruptions / "tables/imagenet.toml"
    table.write_text(table.read_text().replace("[sources]\n", f"[sources]\n{source}\n") + "\n" + rows)
    assert python("-m", "tests.golden", "--write", "gamma").startswith("1 of 1 corruptions had new digests")
    after = contents()
    assert {name for name in after if after[name] != before.get(name)} == FILES
    recorded = json.loads(after["tests/golden/digests.json"])
    assert len(recorded.pop("gamma")["digests"]["imagenet"]) == rows.count("severity")
    assert recorded == json.loads(before["tests/golden/digests.json"])
    options = f"-q -p no:cacheprovider --import-mode=importlib -k gamma -o pythonpath={site}/tests -o".split()
    previous_level = python("-m", "pytest", *options, "markers=ci: \nlong: ", "tests/corruptions/test_properties.py")
    assert re.search(r"^1 passed", previous_level, re.MULTILINE)
