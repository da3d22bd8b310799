"""Wrong variants of the corruptions, each of which the project's own tests must catch, without the golden digests.

``python -m pytest -m long tests/mutations`` takes about half an hour. Each variant is an edit of a copy of the package; the
named tests are run against the copy and must fail, and must have passed on the unedited copy. How to print which test
caught which variant is told in docs/mutations.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corruptset
from corruptset import corruptions
from corruptset.corruptions.registry import corruption_names

sys.path.insert(0, str(Path(__file__).parent))
from variants import VARIANTS

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("corruptions", "manifests", "generate", "scores", "cli")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder with a copy of the package, laid out as installed."""
    site = tmp_path_factory.mktemp("site")
    package = Path(corruptset.__file__).parent
    shutil.copytree(package, site / "corruptset", ignore=shutil.ignore_patterns("__pycache__"))
    for room in ROOMS:
        if not (site / "corruptset" / room).is_dir():  # an editable installation: the rooms stand beside each other
            shutil.copytree(ROOT / room, site / "corruptset" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return site


def run_tests(site: Path, names: str, cache: Path) -> subprocess.CompletedProcess[str]:
    named = [n.partition("::") for n in names.split()]
    environment = os.environ | {"PYTHONPATH": str(site), "CORRUPTSET_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "250"}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *(f"tests/corruptions/test_{a}.py{b}{c}" for a, b, c in named),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.long
@pytest.mark.parametrize("tests", sorted({v.tests for v in VARIANTS}))
def test_the_tests_pass_on_the_unedited_copy(site, tests, tmp_path_factory):
    done = run_tests(site, tests, tmp_path_factory.getbasetemp() / "cache")
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.id)
def test_a_wrong_variant_is_caught(site, variant, tmp_path_factory, record_property):
    path = site / "corruptset" / "corruptions" / variant.file
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace(variant.right, variant.wrong, variant.times), encoding="utf-8")
        done = run_tests(site, variant.tests, tmp_path_factory.getbasetemp() / "cache")
    finally:
        path.write_text(text, encoding="utf-8")
    failed = re.search(r"^FAILED tests/corruptions/(.*?)(?: - (.*))?$", done.stdout, re.MULTILINE)
    record_property("caught_by", failed[1] if failed else "nobody")
    assert done.returncode == 1, f"nobody noticed: {variant.id}\n{done.stdout[-3000:]}"
    assert failed, done.stdout[-3000:]
    # An edit that does not even run says nothing about the tests.
    assert not re.match(r"(Name|Type|Syntax|Import|Attribute|UnboundLocal)Error|numba\.", failed[2] or ""), done.stdout[-3000:]


def test_every_variant_applies():
    """Each edit still finds its place, there are as many as promised, and no corruption is left out."""
    for variant in VARIANTS:
        text = (Path(corruptions.__file__).parent / variant.file).read_text(encoding="utf-8")
        assert variant.right in text, f"{variant.id}: {variant.file} no longer has {variant.right!r}: bring this variant up to date"
        assert variant.right != variant.wrong
    assert len(VARIANTS) >= 45
    assert len({v.id for v in VARIANTS}) == len(VARIANTS)
    assert {v.of for v in VARIANTS} >= set(corruption_names())
