"""The files for the package index: the source archive, the wheel, and the project page."""

from __future__ import annotations

import email
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import checkout
import pytest
from checkout import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGE_DIR = PROJECT["tool"]["setuptools"]["package-dir"]
FROM_ARCHIVE = ["tests/test_packages.py", "tests/corruptions/test_registry.py"]
"""Tests that show that an unpacked source archive contains what tests need."""


def test_versions_agree():
    version = PROJECT["project"]["version"]
    for path, line in (
        ("CITATION.cff", f"version: {version}"),
        ("Dockerfile", f'    org.opencontainers.image.version="{version}" \\'),
    ):
        assert line in (ROOT / path).read_text("utf-8").splitlines(), path


def test_oldest_tested_releases_are_oldest_allowed():
    """`tests/sameness/compare.py --only oldest` installs these releases and compares digests."""
    tried = dict(line.lower().split("==") for line in (ROOT / "tests/sameness/oldest.txt").read_text("utf-8").split())
    for name, floor in (line.split(">=") for line in PROJECT["project"]["dependencies"]):
        assert re.fullmatch(re.escape(floor) + r"(\.\d+)*", tried[name]), f"{name}: tried {tried[name]}, not {floor}"


def test_source_archive_lists_every_folder():
    folders = set(re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text("utf-8"), re.MULTILINE))
    assert folders == {path.partition("/")[0] for path in checkout.checkout_files() if "/" in path}


def test_workflows_refer_to_existing_paths():
    for file in (ROOT / ".github/workflows").iterdir():
        for command in re.findall(r"run: (.*)", file.read_text("utf-8")):
            for path in re.findall(r"(?<![\w./])(?:tests/\w+|\.ci/run|release(?= packages| archives))", command):
                assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), command


@pytest.fixture(scope="module")
def uploads(tmp_path_factory):
    """The files that a maintainer uploads to the package index."""
    folder = tmp_path_factory.mktemp("uploads")
    subprocess.run([sys.executable, "-m", "release", "packages", "--out", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def archives(uploads):
    """The source archive of corruptset, and the wheel that is built from it."""
    (source,), (wheel,) = uploads.glob("corruptset-*.tar.gz"), uploads.glob("corruptset-*.whl")
    return source, wheel


@pytest.mark.ci
def test_every_package_is_present_and_hashed(uploads):
    sums = dict(line.split("  ")[::-1] for line in (uploads / "SHA256SUMS").read_text("utf-8").splitlines())
    add_ons = {folder.name.replace("-", "_") for folder in (ROOT / "plugins").glob("corruptset-*")}
    assert {name.partition("-")[0] for name in sums} == {"corruptset", *add_ons}
    assert {path.name for path in uploads.iterdir()} == {*sums, "SHA256SUMS", "CHANGES.md"}
    assert len(sums) == 2 * (1 + len(add_ons)) == 14
    assert sums == {name: hashlib.sha256((uploads / name).read_bytes()).hexdigest() for name in sums}
    assert (uploads / "CHANGES.md").read_text("utf-8") in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.fixture(scope="module")
def unpacked(archives, tmp_path_factory):
    """The unpacked source archive."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


@pytest.fixture(scope="module")
def python(archives, tmp_path_factory):
    """A new environment with the wheel, which uses the dependencies of this environment."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "base.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")), encoding="utf-8")
    own = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", own, *"install -q --ignore-installed --no-deps --no-index".split()]
    subprocess.run([*pip, archives[1]], check=True)
    return own


@pytest.mark.ci
def test_source_archive_has_every_file(unpacked):
    assert checkout.checkout_files(unpacked) == checkout.checkout_files()
    for path in checkout.checkout_files():
        assert (unpacked / path).read_bytes() == (ROOT / path).read_bytes()


@pytest.mark.ci
def test_wheel_has_exactly_package_files_and_passes_index_checks(archives):
    homes = {f"{folder}/": f"{package.replace('.', '/')}/" for package, folder in PACKAGE_DIR.items()}
    expected = set()
    for path in checkout.checkout_files():
        inside = [folder for folder in homes if path.startswith(folder)]
        expected |= {f"{homes[folder]}{path.removeprefix(folder)}" for folder in sorted(inside, key=len)[-1:]}
    with zipfile.ZipFile(archives[1]) as wheel:
        assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(wheel.read(name))
    check = [sys.executable, "-m", "twine", "check", "--strict", *archives]
    result = subprocess.run(check, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "corruptset build" in metadata.get_payload()
    assert set(metadata.get_all("Provides-Extra") or ()) == set(PROJECT["project"]["optional-dependencies"])


@pytest.mark.ci
def test_wheel_works_without_checkout(python, tmp_path):
    def printed(*words):
        return subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    command = python.with_name("corruptset")
    assert printed(command, "--version") == f"corruptset {PROJECT['project']['version']}\n"
    assert json.loads(printed(command, *"corrupt sample:astronaut contrast/3 --out out.png --json".split()))
    package_file = printed(python, "-c", "import corruptset; print(corruptset.__file__)")
    assert package_file.startswith(str(python.parents[1]))


@pytest.mark.ci
def test_unpacked_archive_passes_its_tests(unpacked, python):
    result = subprocess.run([python, "-m", "pytest", "-q", *FROM_ARCHIVE], cwd=unpacked, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:]
    assert not (unpacked / ".git").exists()


@pytest.mark.ci
def test_workflows_pass_linter():
    linter = Path(sys.executable).with_name("zizmor")
    result = subprocess.run([linter, "--offline", ".github/workflows"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert "No findings" in result.stdout + result.stderr
