"""Class names are part of a benchmark: the digest covers them, and the source is asked for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import archives as a
import layouts
import pytest
from damage import redigest, swap_classes

import corruptset
from corruptset.errors import SourceError
from corruptset.generate.build import Built, build
from corruptset.generate.reproduction.agreement import differing_classes
from corruptset.generate.reproduction.rebuild import rebuild
from corruptset.generate.sources.source import open_source

CLEAN = "[[sets]]\nclean = true\n"


def made(recipe: str | Path, source: str, out: Path) -> Built:
    return build(recipe, source, out, sets=["clean"], format="hdf5", metrics=0, jobs=1)


def cifar(root: Path) -> str:
    return f"cifar10:{a.write(root / 'cifar', a.ten_python(a.crops(4)))}/cifar-10-batches-py"


@pytest.mark.parametrize(("scheme", "field"), [("folder", "name"), ("folder", "folder"), ("cifar10", "name")])
def test_names_that_changed_places(tmp_path: Path, scheme: str, field: str) -> None:
    if scheme == "folder":
        crops = layouts.write_crops(tmp_path / "crops", classes=3, each=1)
        recipe, source = layouts.write_recipe(tmp_path, more=CLEAN), f"folder:{crops}"
    else:
        recipe, source = "cifar10-c", cifar(tmp_path)  # type: ignore[assignment]
    root = made(recipe, source, tmp_path / "out").directory
    good = corruptset.verify(root, rederive="all", source=source, jobs=1)
    assert good.ok, good.problems
    swap_classes(root, field)
    (problem,) = corruptset.verify(root, jobs=1).problems
    assert (problem.path, problem.kind) == ("manifest.json", "digest")
    # Where the digest is made to follow, it is another benchmark's; what speaks against it is the source.
    assert redigest(root) != good.digest
    assert corruptset.verify(root, jobs=1).ok
    report = corruptset.verify(root, rederive=1, source=source, jobs=1)
    assert [(p.path, p.kind) for p in report.problems] == [("manifest.json", "rederive")] * 2
    assert all(f"class {i}" in p.detail and "recorded is" in p.detail for i, p in enumerate(report.problems))
    refused = r"other classes than .*:\n  it.* class 0 .*\n  it.* class 1 .*\nName the source"
    with pytest.raises(SourceError, match=refused):
        rebuild(root, source, tmp_path / "again", jobs=1)
    assert not (tmp_path / "again").exists()
    next(root.glob("hdf5/*.h5")).unlink()
    with pytest.raises(SourceError, match="other classes than"):
        corruptset.verify(root, repair=True, source=source, jobs=1)


def test_a_source_that_only_numbers_its_classes_says_nothing_of_names(tmp_path: Path) -> None:
    """Shards of a build, taken out of it, keep pixels and labels alone."""
    source = cifar(tmp_path)
    built = made("cifar10-c", source, tmp_path / "out")
    (shard,) = built.directory.glob("hdf5/*.h5")
    shutil.copyfile(shard, tmp_path / "alone.h5")
    alone = open_source(f"hdf5:{tmp_path / 'alone.h5'}", images="images", labels="labels")
    assert differing_classes(built.manifest, open_source(f"hdf5:{shard}")) == []
    assert differing_classes(built.manifest, alone) == []
    fewer = built.manifest.model_copy(update={"classes": built.manifest.classes[:-1]})
    assert differing_classes(fewer, open_source(source)) == ["it has 10 classes, recorded are 9"]
