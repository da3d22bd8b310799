"""manifest.json: written in one form, read strictly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corruptset.errors import IncompleteBuild, VerificationError
from corruptset.manifests.manifest_file import MANIFEST_CAP, load_manifest, manifest_bytes, parse_manifest
from corruptset.manifests.records.models import Manifest

Make = Callable[..., Path]


def test_manifest_round_trip(templates: Make) -> None:
    data = (templates() / "manifest.json").read_bytes()
    manifest = parse_manifest(data)
    assert manifest_bytes(manifest) == data
    assert load_manifest(templates()) == manifest
    assert load_manifest(str(templates())) == manifest
    assert data.endswith(b"}\n")
    assert b'\n  "schema_version": 2,\n' in data
    assert "käfer".encode() in data


def test_equal_manifests_have_equal_bytes(templates: Make) -> None:
    value = json.loads((templates() / "manifest.json").read_bytes())

    def turned(v: Any) -> Any:
        if isinstance(v, dict):
            return {k: turned(v[k]) for k in reversed(v)}
        return [turned(x) for x in v] if isinstance(v, list) else v

    assert manifest_bytes(Manifest(**turned(value))) == manifest_bytes(Manifest(**value))


def test_fields_come_in_the_order_of_the_design(templates: Make) -> None:
    wanted = """
        schema_version name version digest seed coupling scale recipe source preprocessing encoding textures revisions
        classes sets files excluded selection views environment
    """
    assert list(json.loads((templates() / "manifest.json").read_bytes())) == wanted.split()


def test_all_wrong_fields_are_listed_at_once(dataset: Make) -> None:
    root = dataset()
    value = json.loads((root / "manifest.json").read_bytes())
    value["seed"] = -1
    value["sets"][1]["role"] = "exam"
    value["files"][0]["path"] = "../x"
    del value["name"]
    value["colour"] = 1
    (root / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(VerificationError) as caught:
        load_manifest(root)
    for says in ["seed: ", "sets[1].role: ", "files[0].path: ", "name: Field required", "colour: Extra", str(root)]:
        assert says in str(caught.value)


def test_incomplete_builds_say_how_to_go_on(tmp_path: Path, templates: Make) -> None:
    build = tmp_path / "out/imagenet-c-1.1.0"
    (build / ".corruptset").mkdir(parents=True)
    (build / ".corruptset/build.json").touch()
    with pytest.raises(
        IncompleteBuild, match=r"incomplete build.*Resume it by running the same `corruptset build` command"
    ):
        load_manifest(build)
    with pytest.raises(IncompleteBuild, match="does not exist"):
        load_manifest(tmp_path / "nowhere")
    # the directory that was meant, one below
    with pytest.raises(IncompleteBuild, match=r"Did you mean .*tiny-c-1\.0\.0\?"):
        load_manifest(templates().parent)


def test_a_folder_of_archives_says_how_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tiny-c-1.0.0-0123456789ab-metadata.tar").write_bytes(b"")
    with pytest.raises(
        IncompleteBuild,
        match=r"holds the archives of a data set\. Unpack them \(`corruptset unpack .*/data/\* --out DIR`\)",
    ):
        load_manifest(tmp_path)


def test_a_huge_manifest_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(MANIFEST_CAP + 1)  # takes no space
    with pytest.raises(VerificationError, match=f"at most {MANIFEST_CAP}"):
        load_manifest(tmp_path)
