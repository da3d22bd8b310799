"""Class names are part of a benchmark: the digest covers them, and the source is asked for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import archives as a
import layouts
import numpy as np
import pytest
from damage import redigest, swap_classes

import corruptset
from corruptset.errors import SourceError
from corruptset.generate.again.rebuild import rebuild
from corruptset.generate.build import build


def crops(root: Path) -> tuple[str | Path, str]:
    source = layouts.write_crops(root / "crops", classes=3, each=1)
    return layouts.write_recipe(root, more="[[sets]]\nclean = true\n"), f"folder:{source}"


def cifar(root: Path) -> tuple[str | Path, str]:
    images, labels = a.crops(4)
    return "cifar10-c", f"cifar10:{a.write(root / 'cifar', a.ten_python((images, labels)))}/cifar-10-batches-py"


def imagenet(root: Path) -> tuple[str | Path, str]:
    a.tar(root / "ILSVRC2012_devkit_t12.tar.gz", a.devkit(), "w:gz")
    a.tar(root / "ILSVRC2012_img_val.tar", a.val_images())
    return "imagenet-c", f"imagenet:{root / 'ILSVRC2012_img_val.tar'}"


def rows(root: Path) -> tuple[str | Path, str]:
    images, labels = a.crops(4)
    np.save(root / "x.npy", images)
    np.save(root / "y.npy", labels)
    return layouts.write_recipe(root, more="[[sets]]\nclean = true\n"), f"npy:{root / 'x.npy'},{root / 'y.npy'}"


@pytest.mark.parametrize("given", [crops, cifar, imagenet, rows])
@pytest.mark.parametrize("field", ["name", "folder"])
def test_names_that_changed_places(tmp_path: Path, given, field: str) -> None:  # type: ignore[no-untyped-def]
    recipe, source = given(tmp_path)
    root = build(recipe, source, tmp_path / "out", sets=["clean"], format="hdf5", metrics=0, jobs=1).directory
    good = corruptset.verify(root, rederive="all", source=source, jobs=1)
    assert good.ok, good.problems
    swap_classes(root, field)
    (problem,) = corruptset.verify(root, jobs=1).problems
    assert (problem.path, problem.kind) == ("manifest.json", "digest")
    # Where the digest is made to follow, it is another benchmark's; what speaks against it is the source.
    assert redigest(root) != good.digest
    assert corruptset.verify(root, jobs=1).ok
    report = corruptset.verify(root, rederive=1, source=source, jobs=1)
    assert {(p.path, p.kind) for p in report.problems} == {("manifest.json", "rederive")}
    assert len(report.problems) == 2
    assert all(f"class {i}" in p.detail and "recorded is" in p.detail for i, p in enumerate(report.problems))
    with pytest.raises(
        SourceError, match=r"other classes than .*:\n  it.* class 0 .*\n  it.* class 1 .*\nName the source"
    ):
        rebuild(root, source, tmp_path / "again", jobs=1)
    assert not (tmp_path / "again").exists()
    next(root.glob("hdf5/*.h5")).unlink()
    with pytest.raises(SourceError, match="other classes than"):
        corruptset.verify(root, repair=True, source=source, jobs=1)


def test_a_source_that_only_numbers_its_classes_says_nothing_of_names(tmp_path: Path) -> None:
    """Shards of a build, taken out of it, keep pixels and labels alone."""
    from corruptset.generate.again.agreement import differing_classes
    from corruptset.generate.sources.source import open_source

    recipe, source = cifar(tmp_path)
    built = build(recipe, source, tmp_path / "out", sets=["clean"], format="hdf5", metrics=0, jobs=1)
    (shard,) = built.directory.glob("hdf5/*.h5")
    shutil.copyfile(shard, tmp_path / "alone.h5")
    assert differing_classes(built.manifest, open_source(f"hdf5:{shard}")) == []
    assert (
        differing_classes(
            built.manifest, open_source(f"hdf5:{tmp_path / 'alone.h5'}", images="images", labels="labels")
        )
        == []
    )
    fewer = built.manifest.model_copy(update={"classes": built.manifest.classes[:-1]})
    assert differing_classes(fewer, open_source(source)) == ["it has 10 classes, recorded are 9"]
