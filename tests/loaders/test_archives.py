"""What stands beside packed archives, as mlcroissant and the bagit package take it."""

from __future__ import annotations

from pathlib import Path

import layouts
import numpy as np
import pytest

import corruptset
from corruptset.manifests.release.pack import pack

pytestmark = [
    pytest.mark.ci,
    # these libraries warn about themselves
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built")
    return layouts.make(layouts.write_recipe(root, encoding="jpeg"), layouts.write_crops(root / "crops"), root, format="both")


@pytest.mark.parametrize("most", [50_000_000_000, 120_000])
def test_mlcroissant_reads_packed_files(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    import mlcroissant

    monkeypatch.setenv("CROISSANT_CACHE", str(tmp_path / "croissant"))
    done = pack(built, tmp_path / "p", family_of=lambda _: "digital", max_bytes=most)
    assert (len(done.archives) > 3) == (most < 1_000_000)
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "p" / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    data = corruptset.open(built)
    samples = {s.index: s for s in data.samples}
    assert [(r["samples/id"].decode(), r["samples/label"]) for r in dataset.records("samples")] == [(s.id, s.label) for s in data.samples]
    assert [r["classes/folder"] for r in dataset.records("classes")] == [c.folder for c in data.classes]
    for set_id in ("contrast/3", "contrast-3+brightness-2"):
        by_path = {f"images/{set_id}/{s.id}.JPEG": i for i, s in samples.items()}
        found = list(dataset.records(set_id))
        assert {r[f"{set_id}/path"].decode() for r in found} == set(by_path)
        for record in found:
            index = by_path[record[f"{set_id}/path"].decode()]
            np.testing.assert_array_equal(np.array(record[f"{set_id}/image"]), data[set_id].image(index))
            assert record[f"{set_id}/class"].decode() == data.classes[samples[index].label].folder


def test_bagit_validates_the_folder(built: Path, tmp_path: Path) -> None:
    import bagit

    done = pack(built, tmp_path / "p", family_of=lambda _: "digital")
    bag = bagit.Bag(str(tmp_path / "p"))
    bag.validate()
    assert bag.info["External-Identifier"] == done.digest
    archive = tmp_path / "p" / done.archives[0].path
    archive.write_bytes(archive.read_bytes() + b"x")
    assert not bagit.Bag(str(tmp_path / "p")).is_valid()
