"""Test that commands which regenerate images reject a different source, classes, code or textures before writing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
import source_archives
from damage import swap_classes, update_digest
from PIL import Image
from regenerated import changed_revision, write_photos

import corruptset
from corruptset.errors import SourceError, VerificationError
from corruptset.generate.build import Built, build
from corruptset.generate.reproduction.agreement import class_differences
from corruptset.generate.reproduction.rebuild import rebuild
from corruptset.generate.sources.source import open_source

RECIPE = """
name = "frosty"
version = "1.0.0"
title = "Frosty"
calibration = "tiny"
preprocessing = {kind = "resize-crop", resize = 72, crop = 64}
encoding = {format = "png"}
[[sets]]
chain = ["contrast-1", "frost-1"]
"""
AGAIN: dict[str, Callable[..., Any]] = {
    "rebuild": lambda root, out, **options: rebuild(root, out=out, jobs=1, **options),
    "rederive": lambda root, out, **options: corruptset.verify(root, rederive="all", jobs=1, **options),
    "repair": lambda root, out, **options: corruptset.verify(root, repair=True, jobs=1, **options),
    "open": lambda root, out, **options: corruptset.open(root, **options),
}


def textures(folder: Path, levels: dict[str, int]) -> Path:
    folder.mkdir()
    for name, level in levels.items():
        Image.fromarray(np.full((250, 260, 3), level, np.uint8)).save(folder / f"{name}.png")
    return folder


def test_differences_in_source_code_and_textures_are_reported(tmp_path: Path) -> None:
    (tmp_path / "frosty.toml").write_text(RECIPE)
    source, custom = write_photos(tmp_path / "photos", each=1), textures(tmp_path / "own", {"a": 200, "b": 220})
    options: dict[str, Any] = {"jobs": 1, "metrics": 0, "storage": "folder", "frost_textures": custom, "page": False}
    result = build(tmp_path / "frosty.toml", source, tmp_path / "one", **options)
    root, out = result.directory, tmp_path / "two"
    assert [t.name for t in result.manifest.textures] == ["a.png", "b.png"]
    min(root.rglob("images/**/*.png")).unlink()  # something to repair
    remaining = sorted(root.rglob("*"))

    def refused(error: type[Exception], match: str, **options: Any) -> None:
        for front, do in AGAIN.items():
            if front == "open" and "source" in options:
                continue  # without a source it opens what is stored
            with pytest.raises(error, match=match):
                do(root, out, **{"source": source, "frost_textures": custom} | options)
            assert sorted(root.rglob("*")) == remaining
            assert not out.exists()

    with changed_revision():
        refused(VerificationError, "contrast: revision 2 here, revision 1 in the dataset")
    # which texture an image gets depends on their number and order: one too many, or renamed, is as wrong as another
    for others in ({"a": 200, "b": 221}, {"a": 200}, {"a": 200, "b": 220, "c": 240}, {"b": 200, "a": 220}):
        folder = textures(tmp_path / f"{others}", others)
        refused(VerificationError, "built with different frost textures", frost_textures=folder)
    refused(SourceError, "built from the source 'folder'.*Pass it with --source", source=None)
    image = tmp_path / "photos/b/0.png"
    original = image.read_bytes()
    Image.new("RGB", (90, 80)).save(image)
    refused(
        SourceError, r"not the source from which .* was built:\n  b/0: is sha256:\w+, expected sha256:\w+\nPass the"
    )
    image.unlink()
    refused(SourceError, "b/0: is not in the source")
    image.write_bytes(original)
    results = {front: do(root, out, source=source, frost_textures=custom) for front, do in AGAIN.items()}
    assert {p.kind for p in results["rederive"].problems} == {"missing"}
    assert results["repair"].ok
    assert results["rebuild"].built.digest == results["open"].digest == result.digest


def build_clean(recipe: str | Path, source: str, out: Path) -> Built:
    return build(recipe, source, out, sets=["clean"], storage="hdf5", metrics=0, jobs=1, page=False)


def cifar(root: Path) -> str:
    files = source_archives.cifar10_python(source_archives.random_crops(4))
    return f"cifar10:{source_archives.write_files(root / 'cifar', files)}/cifar-10-batches-py"


@pytest.mark.parametrize(("scheme", "field"), [("folder", "name"), ("folder", "folder"), ("cifar10", "name")])
def test_exchanged_class_names_are_reported(
    shared_data: small_builds.SharedData, tmp_path: Path, scheme: str, field: str
) -> None:
    """Class names are part of a benchmark, because the digest covers them, so the source is compared with them."""
    recipe: str | Path
    recipe, source = "cifar10-c", cifar(tmp_path)
    if scheme == "folder":
        recipe = shared_data.recipe(more="[[sets]]\nclean = true\n")
        source = f"folder:{shared_data.crops(classes=3, each=1)}"
    root = build_clean(recipe, source, tmp_path / "out").directory
    digest = corruptset.open(root).digest
    swap_classes(root, field)
    problems = corruptset.verify(root, jobs=1).problems
    assert [(p.path, p.kind) for p in problems] == [("manifest.json", "digest")]
    # where the digest is made to follow, it is another benchmark's; what speaks against it is the source
    assert update_digest(root) != digest
    assert corruptset.verify(root, jobs=1).ok
    problems = corruptset.verify(root, rederive=1, source=source, jobs=1).problems
    assert [(p.path, p.kind) for p in problems] == [("manifest.json", "rederive")] * 2
    assert all(f"class {i}" in p.detail and "but recorded as" in p.detail for i, p in enumerate(problems))
    message = r"classes of the source differ from those of .*:\n.* class 0 .*\n.* class 1 .*\nPass the source"
    next(root.glob("hdf5/*.h5")).unlink()
    for front in ("rebuild", "repair"):
        with pytest.raises(SourceError, match=message):
            AGAIN[front](root, tmp_path / "again", source=source)
    assert not (tmp_path / "again").exists()


def test_source_with_numbered_classes_does_not_check_names(tmp_path: Path) -> None:
    """Shards that were copied out of a build contain only pixels and labels."""
    directory = build_clean("cifar10-c", cifar(tmp_path), tmp_path / "out")
    (shard,) = directory.directory.glob("hdf5/*.h5")
    shutil.copyfile(shard, tmp_path / "alone.h5")
    alone = open_source(f"hdf5:{tmp_path / 'alone.h5'}", images="images", labels="labels")
    for source in (open_source(f"hdf5:{shard}"), alone):
        assert class_differences(directory.manifest, source) == []
