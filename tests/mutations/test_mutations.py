"""Wrong variants of the package, each of which the project's own default tests must catch, without the golden digests.

``python -m pytest -m long tests/mutations`` takes an hour or two. Each variant is an edit of a copy of the package; the
named tests are run against the copy and must fail, and must have passed on the unedited copy. A run that was stopped
goes on where it was, as long as neither the package nor the tests change. How to print which test caught which variant
is told in docs/reliability.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corruptset
from corruptset import corruptions
from corruptset.generate.recipes.recipe import load_recipe, recipe_names

sys.path.insert(0, str(Path(__file__).parent))
from rooms import MISTAKES
from variants import VARIANTS

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pages", "corruptions", "manifests", "generate", "scores", "cli")
NO_JUDGEMENT = re.compile(r"(Name|Syntax|Import|UnboundLocal)Error|numba\.")
"""An edit that does not even run says nothing about the tests."""


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


@pytest.fixture(scope="module")
def known(request, site):
    """Return a function that finds what was seen before of the same package and tests, or does it and keeps what it
    returns.
    """
    digest = hashlib.sha256()
    for file in sorted(
        f for folder in (site, ROOT / "tests") for f in folder.rglob("*") if f.suffix in (".py", ".toml")
    ):
        digest.update(file.read_bytes())
    key = f"mutations/{digest.hexdigest()[:16]}"
    seen = request.config.cache.get(key, {})

    def look(name, do):
        if name not in seen:
            seen[name] = do()
            request.config.cache.set(key, seen)
        return seen[name]

    return look


def files_of(names, room=""):
    """Return the test files of names such as ``generate/parts``, or, of a room, ``noise`` and
    ``noise::test_extremes``.
    """
    split = [f"{room}{name}".partition("::") for name in names.split()]
    return [
        f"tests/{path.rpartition('/')[0]}/test_{path.rpartition('/')[2]}.py{mark}{test}" for path, mark, test in split
    ]


def run_tests(site, files, cache):
    environment = os.environ | {
        "PYTHONPATH": str(site),
        "CORRUPTSET_CACHE": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "250",
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def caught_by(site, cache, file, right, wrong, times, files):
    """Return the test that fails on a variant."""
    path = site / "corruptset" / file
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace(right, wrong, times), encoding="utf-8")
        done = run_tests(site, files, cache)
    finally:
        path.write_text(text, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) tests/(.*?)(?: - (.*))?$", done.stdout, re.MULTILINE)
    assert done.returncode == 1, f"nobody noticed\n{done.stdout[-3000:]}"
    assert failed, done.stdout[-3000:]
    assert not NO_JUDGEMENT.match(failed[2] or ""), done.stdout[-3000:]
    return failed[1]


TESTED = sorted(
    {f for v in VARIANTS for f in files_of(v.tests, "corruptions/")} | {f for m in MISTAKES for f in files_of(m.tests)}
)


@pytest.mark.long
@pytest.mark.parametrize("file", TESTED)
def test_the_tests_pass_on_the_unedited_copy(site, known, file, tmp_path_factory):
    def passed():
        done = run_tests(site, [file], tmp_path_factory.getbasetemp() / "cache")
        assert done.returncode == 0, done.stdout[-3000:]
        return "passed"

    known(file, passed)


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.id)
def test_a_wrong_variant_is_caught(site, known, variant, tmp_path_factory, record_property):
    cache, files = tmp_path_factory.getbasetemp() / "cache", files_of(variant.tests, "corruptions/")
    file = f"corruptions/{variant.file}"
    by = known(variant.id, lambda: caught_by(site, cache, file, variant.right, variant.wrong, variant.times, files))
    record_property("caught_by", by.removeprefix("corruptions/"))


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.id)
def test_a_mistake_outside_the_pixels_is_caught(site, known, mistake, tmp_path_factory, record_property):
    cache, files = tmp_path_factory.getbasetemp() / "cache", files_of(mistake.tests)
    by = known(
        mistake.id,
        lambda: caught_by(site, cache, mistake.file.removeprefix("api/"), mistake.right, mistake.wrong, 1, files),
    )
    record_property("caught_by", by)


def test_every_variant_applies():
    """Each edit still finds its place, there are as many as promised, and no corruption of a shipped recipe is left
    out.
    """
    for variant in VARIANTS:
        text = (Path(corruptions.__file__).parent / variant.file).read_text(encoding="utf-8")
        problem = f"{variant.id}: {variant.file} no longer has {variant.right!r}: bring this variant up to date"
        assert variant.right in text, problem
        assert variant.right != variant.wrong
    assert len({v.id for v in VARIANTS}) == len(VARIANTS) >= 45
    sets = [spec for name in recipe_names() for spec in load_recipe(name).resolve().sets]
    published = {stage.corruption for spec in sets for stage in spec.stages}
    without = sorted(published - {v.of for v in VARIANTS})
    assert not without, "tests/mutations/variants.py needs a wrong variant of these, and the test that notices it"


def test_every_mistake_applies():
    """Each edit outside the pixels finds its one place, and names tests that there are."""
    problems = []
    for mistake in MISTAKES:
        file = ROOT / mistake.file.replace("compat/", "corruptions/compat/")
        times = file.read_text(encoding="utf-8").count(mistake.right)
        problems += [f"{mistake.id}: stands {times} times in {mistake.file}: {mistake.right!r}"] * (times != 1)
        absent = [name for name in files_of(mistake.tests) if not (ROOT / name).is_file()]
        problems += [f"{mistake.id}: there is no {', '.join(absent)}"] * bool(absent)
        assert mistake.right != mistake.wrong
        assert not mistake.file.startswith("corruptions/") or "/models/" in mistake.file
    assert not problems, "bring these variants of rooms.txt up to date:\n" + "\n".join(problems)
    assert len({m.id for m in MISTAKES}) == len(MISTAKES) >= 90
    for part in ("generate/sources/", "generate/views/", "generate/sinks/", "generate/", "manifests/", "cli/"):
        assert any(m.file.startswith(part) for m in MISTAKES)
