"""What goes to the package index: the source archive, the wheel, and the page there."""

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
from email.message import Message
from pathlib import Path

import checkout
import numpy as np
import pytest
from checkout import ROOT
from PIL import Image

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ROOMS = PROJECT["tool"]["setuptools"]["package-dir"]
FROM_ARCHIVE = ["tests/test_rooms.py", "tests/manifests/records", "tests/corruptions/test_registry.py"]
"""Tests that show that an unpacked archive has what tests need; the whole suite passes from it too."""


def test_versions_agree() -> None:
    version = PROJECT["project"]["version"]
    for path, line in (
        ("CITATION.cff", f"version: {version}"),
        ("Dockerfile", f'    org.opencontainers.image.version="{version}" \\'),
    ):
        assert line in (ROOT / path).read_text("utf-8").splitlines(), path


def test_the_oldest_releases_that_are_tried_are_those_that_are_allowed() -> None:
    """`tests/sameness/compare.py --only oldest` installs them and compares digests."""
    tried = dict(line.lower().split("==") for line in (ROOT / "tests/sameness/oldest.txt").read_text("utf-8").split())
    allowed = dict(line.split(">=") for line in PROJECT["project"]["dependencies"])
    pinned = {name: version for name, version in tried.items() if name in allowed}
    assert set(pinned) == set(allowed)
    for name, floor in allowed.items():
        assert re.fullmatch(re.escape(floor) + r"(\.\d+)*", pinned[name]), (
            f"{name}: tried {pinned[name]}, allowed from {floor}"
        )


def test_the_source_archive_is_told_of_every_folder() -> None:
    told = set(re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text("utf-8"), re.MULTILINE))
    assert told == {path.partition("/")[0] for path in checkout.files() if "/" in path}


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a maintainer uploads to the package index."""
    folder = tmp_path_factory.mktemp("uploads")
    subprocess.run([sys.executable, "-m", "release", "packages", "--out", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def archives(uploads: Path) -> tuple[Path, Path]:
    """The source archive of the core, and the wheel that is built from it."""
    (source,) = uploads.glob("corruptset-*.tar.gz")
    (wheel,) = uploads.glob("corruptset-*.whl")
    return source, wheel


@pytest.mark.ci
def test_every_package_is_there_and_hashed(uploads: Path) -> None:
    sums = dict(line.split("  ")[::-1] for line in (uploads / "SHA256SUMS").read_text("utf-8").splitlines())
    add_ons = {folder.name.replace("-", "_") for folder in (ROOT / "plugins").glob("corruptset-*")}
    assert {name.partition("-")[0] for name in sums} == {"corruptset", *add_ons}
    assert {path.name for path in uploads.iterdir()} == {*sums, "SHA256SUMS", "CHANGES.md"}
    assert len(sums) == 2 * (1 + len(add_ons)) == 10
    for name, digest in sums.items():
        assert hashlib.sha256((uploads / name).read_bytes()).hexdigest() == digest
    assert (uploads / "CHANGES.md").read_text("utf-8") in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.fixture(scope="module")
def unpacked(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


@pytest.fixture(scope="module")
def python(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; what it needs is that of this environment."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    own = folder / "bin" / "python"
    site = Path(
        subprocess.run(
            [own, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True
        ).stdout.strip()
    )
    (site / "base.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")), encoding="utf-8")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        own,
        "install",
        "-q",
        "--ignore-installed",
        "--no-deps",
        "--no-index",
        archives[1],
    ]
    subprocess.run(pip, check=True)
    return own


@pytest.mark.ci
def test_the_source_archive_has_every_file(unpacked: Path) -> None:
    assert checkout.files(unpacked) == checkout.files()
    for path in checkout.files():
        assert (unpacked / path).read_bytes() == (ROOT / path).read_bytes()


@pytest.mark.ci
def test_the_wheel_has_every_file_of_the_rooms_and_no_other(archives: tuple[Path, Path]) -> None:
    homes = {folder: package.replace(".", "/") for package, folder in ROOMS.items()}
    expected = set()
    for path in checkout.files():
        inside = [room for room in homes if path.startswith(f"{room}/")]
        expected |= {f"{homes[room]}{path.removeprefix(room)}" for room in sorted(inside, key=len)[-1:]}
    with zipfile.ZipFile(archives[1]) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == expected


@pytest.mark.ci
def test_the_index_takes_them(archives: tuple[Path, Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *archives], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    with zipfile.ZipFile(archives[1]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata: Message = email.message_from_bytes(wheel.read(name))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "corruptset build" in metadata.get_payload()
    assert set(metadata.get_all("Provides-Extra") or ()) == set(PROJECT["project"]["optional-dependencies"])


@pytest.mark.ci
def test_the_wheel_works_without_the_checkout(python: Path, tmp_path: Path) -> None:
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 48, 3), dtype=np.uint8)).save(tmp_path / "photo.png")
    command = python.with_name("corruptset")
    version = subprocess.run([command, "--version"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert version == f"corruptset {PROJECT['project']['version']}\n"
    made = [command, "corrupt", "photo.png", "contrast", "--severity", "3", "--out", "out.png", "--json"]
    assert json.loads(subprocess.run(made, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    where = [python, "-c", "import corruptset; print(corruptset.__file__)"]
    assert subprocess.run(where, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.startswith(
        str(python.parents[1])
    )


@pytest.mark.ci
def test_an_unpacked_archive_passes_its_tests(unpacked: Path, python: Path) -> None:
    done = subprocess.run([python, "-m", "pytest", "-q", *FROM_ARCHIVE], cwd=unpacked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert not (unpacked / ".git").exists()


@pytest.mark.ci
def test_workflows_have_nothing_that_a_linter_finds() -> None:
    linter = Path(sys.executable).with_name("zizmor")
    found = subprocess.run([linter, "--offline", ".github/workflows"], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
    assert "No findings" in found.stdout + found.stderr


def test_workflows_run_what_stands_here() -> None:
    for file in (ROOT / ".github/workflows").iterdir():
        for command in re.findall(r"run: (.*)", file.read_text("utf-8")):
            for path in re.findall(r"(?<![\w./])(?:tests/\w+|\.ci/run|release(?= packages| archives))", command):
                assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), command
