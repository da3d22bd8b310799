"""The files of a release as mlcroissant, the bagit package and `datasets` read them."""

from __future__ import annotations

import numpy as np
import pytest
from doc_pages import shell
from file_server import serve_folder

import corruptset
from corruptset.errors import BuildError, VerificationError
from corruptset.manifests.distribution.publish import publish
from corruptset.manifests.release.pack import pack

pytestmark = [
    pytest.mark.ci,
    # these libraries print warnings about themselves
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def dataset_dir(shared_data):
    return shared_data.build(recipe={"encoding": "jpeg"}, storage="both")


@pytest.mark.parametrize("layout", ["huggingface", "zenodo"])
def test_mlcroissant_reads_published_dataset_over_http(dataset_dir, tmp_path, monkeypatch, layout):
    """croissant.json can be used as it was published, without further edits or downloads."""
    import mlcroissant

    monkeypatch.setenv("CROISSANT_CACHE", str(tmp_path / "croissant"))
    pack(dataset_dir, tmp_path / "p")
    place = tmp_path / "published"
    place.mkdir()
    with serve_folder() as serve:
        url = serve(place / "files" if layout == "zenodo" else place).url
        options = {"license": "cc-by-4.0", "date": "2026-11-23", "url": url}
        options |= {"creators": ["Doe, Jane"]} if layout == "zenodo" else {}
        publish(tmp_path / "p", place, layout=layout, go=True, **options)
        dataset = mlcroissant.Dataset(jsonld=f"{url}/croissant.json")
        about = dataset.metadata
        assert not about.ctx.issues.errors
        assert (about.url, about.license, str(about.date_published)[:10]) == (url, ["cc-by-4.0"], "2026-11-23")
        data = corruptset.open(dataset_dir)
        result, by_id = list(dataset.records("contrast/3")), {s.id: s for s in data.samples}
        assert len(result) == len(by_id)
        for record in result:
            sample = by_id[record["contrast/3/id"].decode()]
            np.testing.assert_array_equal(np.array(record["contrast/3/image"]), data["contrast/3"].image(sample.index))
            assert record["contrast/3/label"] == sample.label


@pytest.mark.parametrize(("encoding", "format"), [("jpeg", "folder"), ("png", "hdf5")])
def test_load_dataset_reads_images_of_published_dataset(shared_data, tmp_path, encoding, format):
    """The published folder is loaded with `datasets`, with one configuration per set and labels by name."""
    from datasets import ClassLabel, get_dataset_config_names, load_dataset

    directory = shared_data.build(recipe={"encoding": encoding}, storage=format)
    shell(f"corruptset pack {directory} --out release --parquet", tmp_path)
    output = shell("corruptset publish release --to there --for huggingface --license cc-by-4.0 --go", tmp_path)
    assert "load_dataset" not in output
    data, place = corruptset.open(directory), str(tmp_path / "there")
    assert set(get_dataset_config_names(place)) == {set_id.replace("/", "-") for set_id in data}
    for set_id in ("clean", "contrast/3", "contrast-3+brightness-2"):
        rows = load_dataset(place, set_id.replace("/", "-"), split=data[set_id].record.role)
        assert isinstance(rows.features["label"], ClassLabel)
        assert rows.features["label"].names == [c.name for c in data.classes]
        assert (rows["id"][:], rows["label"][:]) == (data[set_id].ids, data[set_id].labels.tolist())
        for row, image in zip(rows, data[set_id].images(), strict=True):
            np.testing.assert_array_equal(np.array(row["image"]), image.squeeze())


def test_damaged_parquet_is_not_published_and_missing_parquet_is_explained(dataset_dir, tmp_path):
    release_dir = tmp_path / "there"
    result = pack(dataset_dir, tmp_path / "p", parquet=True)
    assert result.bytes == sum(p.stat().st_size for end in ("tar", "parquet") for p in result.path.rglob(f"*.{end}"))
    (path,) = (tmp_path / "p").glob("parquet-*/contrast-3.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(VerificationError, match=r"/contrast-3.parquet does not have the recorded hash"):
        publish(tmp_path / "p", release_dir, layout="huggingface", go=True)
    pack(dataset_dir, tmp_path / "q")
    (note,) = publish(tmp_path / "q", release_dir, layout="huggingface").notes
    assert "--parquet" in note
    with pytest.raises(BuildError, match="Omit one of these two options"):
        pack(dataset_dir, tmp_path / "r", parquet=True, manifest_only=True)


def test_bagit_validates_folder(dataset_dir, tmp_path):
    import bagit

    result = pack(dataset_dir, tmp_path / "p")
    bag = bagit.Bag(str(tmp_path / "p"))
    bag.validate()
    assert bag.info["External-Identifier"] == result.digest
    archive = tmp_path / "p" / result.archives[0].path
    archive.write_bytes(archive.read_bytes() + b"x")
    assert not bagit.Bag(str(tmp_path / "p")).is_valid()
