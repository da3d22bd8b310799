"""The Docker image runs as any user, without HOME, and writes only to the data folder."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import checkout
import dockerfiles
import pytest
from checkout import ROOT

DOCKERFILE = ROOT / "Dockerfile"


def test_image_has_this_version_and_pinned_dependencies() -> None:
    text = DOCKERFILE.read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    notes = dict(dockerfiles.instructions(text))
    assert f'image.version="{project["version"]}"' in notes["LABEL"]
    assert f'image.licenses="{project["license"]}"' in notes["LABEL"]
    base = notes["ARG"].removeprefix("BASE=")
    assert base.count(".") == 2, "a base without a patch release is another one next month"
    pinned = {line.split("==")[0].lower() for line in (ROOT / "tests/sameness/newest.txt").read_text("utf-8").split()}
    assert {line.split(">=")[0] for line in project["dependencies"]} <= pinned


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> dockerfiles.Image:
    folder = tmp_path_factory.mktemp("image")
    checkout.copy_checkout(folder / "context")
    return dockerfiles.build_image(DOCKERFILE, folder / "context", dockerfiles.base_root(folder), folder)


def kernels(root: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in root.rglob("opt/corruptset-cache/**/*") if p.is_file()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder to which every user may write."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(0o755)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(("user", "read_only"), [("1000:1000", False), ("54321:54321", True), ("0:0", False)])
def test_image_builds_and_verifies(image: dockerfiles.Image, data: Path, user: str, read_only: bool) -> None:
    before = kernels(image.root)
    assert len(before) > 50
    arguments = ["build", "imagenet-c-all", "--samples", "2", "--out", "sets", "--json"]
    result = image.run(*arguments, data=data, user=user, read_only=read_only)
    assert result.returncode == 0, result.stderr
    record = json.loads(result.stdout)
    assert record["sets"] == 96
    (directory,) = (data / "sets").iterdir()
    assert directory.stat().st_uid == int(user.partition(":")[0])
    verify_result = image.run("verify", f"sets/{directory.name}", data=data, user=user, read_only=read_only)
    assert verify_result.returncode == 0, verify_result.stderr
    assert kernels(image.root) == before, "the cache of the image is for reading"


@pytest.mark.long
def test_image_prints_its_version(image: dockerfiles.Image, data: Path) -> None:
    result = image.run("--version", data=data)
    assert result.stdout.startswith("corruptset ")
    assert image.labels["org.opencontainers.image.title"] == "corruptset"
