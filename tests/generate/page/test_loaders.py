"""Loaders: their lines are those of docs/use-it-with.md, and those are shown that a data set goes into."""

from __future__ import annotations

from pathlib import Path

import doc_pages

from corruptset.generate.page.loaders import Loader, filled, fitting_loaders, loader_table
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import StorageRecord


def loaders(directory: Path, **changes: object) -> dict[str, Loader]:
    data = DataSet(directory)
    manifest = data.manifest.model_copy(update=changes)
    shape = data[data.set_ids[0]].image(0).shape
    return {loader.id: loader for loader in fitting_loaders(manifest, [data.sample(0)], shape)}


def test_the_docs_have_these_very_lines() -> None:
    python = [block for kind, block in doc_pages.BLOCKS if kind == "python"]
    for entry in loader_table():
        for step in entry["steps"]:
            text = filled(step["text"], {"globs": "", **entry["docs"]})
            assert text in doc_pages.LINES if step["kind"] == "sh" else f"{text}\n" in python, entry["id"]


def test_lines_have_the_names_of_the_data_set_and_run(plain: Path) -> None:
    python, shards = (loaders(plain)[name].steps[0]["text"] for name in ("python", "h5py"))
    assert 'data["brightness/1"][0]' in python
    assert "(n, 32, 32, 3)" in shards
    names: dict[str, object] = {}
    for lines in (python, shards):
        exec(lines.replace(f'"{plain.name}', f'"{plain}'), names)
    assert len(names["labels"]) == len(DataSet(plain)["brightness/1"])  # type: ignore[arg-type]
    export, load = (step["text"] for step in loaders(plain)["numpy"].steps)
    # sets that a view has no place for are left out by a glob
    assert export == f"corruptset export cifar-c {plain.name} --out data --sets '*/*'"
    assert 'np.load("data/CIFAR-10-C/brightness.npy")' in load
    only = [s for s in DataSet(plain).manifest.sets if "/" in s.id]
    assert loaders(plain, sets=only)["numpy"].steps[0]["text"] == f"corruptset export cifar-c {plain.name} --out data"


def test_what_fits_is_shown(plain: Path, levels: Path) -> None:
    assert {"python", "h5py", "webdataset", "datasets", "openood", "croissant"} <= set(loaders(plain))
    assert not {"h5py-jpeg", "torchvision", "timm", "mnist-c", "robustbench"} & set(loaders(plain))
    assert not {"numpy", "datasets", "mnist-c"} & set(loaders(levels))
    # containers, formats and numbers decide
    assert "h5py" not in loaders(plain, storage=StorageRecord(container="folder"))
    jpeg = {"format": "jpeg", "quality": 85, "optimize": False, "subsampling": "4:2:0"}
    shards = StorageRecord(container="hdf5")
    assert {"h5py-jpeg"} == {name for name in loaders(plain, encoding=jpeg, storage=shards) if name.startswith("h5py")}
    sets = [s.model_copy(update={"count": 10_000}) for s in DataSet(plain).manifest.sets]
    assert "robustbench" in loaders(plain, sets=sets)
