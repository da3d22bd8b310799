"""Tests of the source, the export and the scores of MedMNIST-C, on small files in the published form."""

from __future__ import annotations

import numpy as np
import pytest
from published_draws import image

import corruptset
from corruptset.errors import BuildError, SourceError
from corruptset.generate.exports.export_check import verify_export
from corruptset.generate.sources.source import open_source


def published_file(path, labels, *, grey=True):
    images = np.stack(
        [image(which, grey=grey)[..., 0] if grey else image(which, grey=grey) for which in range(len(labels))]
    )
    arrays = {"train_images": images[:1], "train_labels": labels[:1], "test_images": images, "test_labels": labels}
    np.savez_compressed(path, **arrays)
    return images


def build_dataset(folder, name, labels, sets, **options):
    path = folder / f"{name}_224.npz"
    images = published_file(path, labels, **options)
    result = corruptset.build(
        f"{name}-c", f"medmnist:{path}", sets=[*sets, "clean"], out=folder / "out", jobs=1, page=False, progress=False
    )
    return images, result.directory


def test_export_has_published_format(tmp_path):
    labels = np.array([[1], [0], [1]], np.uint8)
    images, directory = build_dataset(
        tmp_path, "pneumoniamnist", labels, ["rgb_gaussian_noise/*", "windowed_gaussian_blur/*"]
    )
    result = corruptset.export("medmnist-c", directory, tmp_path / "exported", progress=False)
    assert sorted(path.name for path in result.top.iterdir()) == ["gaussian_blur.npz", "gaussian_noise.npz"]
    data = corruptset.open(directory)
    assert np.array_equal(np.stack(list(data["clean"].images()))[..., 0], images)
    for published, name in (("gaussian_noise", "rgb_gaussian_noise"), ("gaussian_blur", "windowed_gaussian_blur")):
        with np.load(result.top / f"{published}.npz") as file:
            assert file["test_images"].shape == (15, 224, 224)
            assert np.array_equal(file["test_labels"], np.tile(labels, (5, 1)))
            assert np.array_equal(file["test_images"][6:9], np.stack(list(data[f"{name}/3"].images()))[..., 0])
    repeated = corruptset.export("medmnist-c", directory, tmp_path / "again", sets=["rgb_*"], progress=False)
    assert [path.read_bytes() for path in repeated.top.iterdir()] == [(result.top / "gaussian_noise.npz").read_bytes()]
    assert verify_export(tmp_path / "exported").ok
    (result.top / "gaussian_blur.npz").write_bytes(b"")
    assert not verify_export(tmp_path / "exported").ok
    with pytest.raises(BuildError, match="rgb_gaussian_noise/1"):
        corruptset.export("medmnist-c", directory, tmp_path / "some", sets=["rgb_*/2"], progress=False)


def test_multi_label_images_keep_labels_and_have_auc(tmp_path, run):
    labels = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]], np.uint8)
    _, directory = build_dataset(tmp_path, "chestmnist", labels, ["gamma_corr_up/*"])
    data = corruptset.open(directory)
    assert [class_.name for class_ in data.classes] == ["000", "010", "011", "100"]
    result = corruptset.export("medmnist-c", directory, tmp_path / "exported", progress=False)
    with np.load(result.top / "gamma_corr_up.npz") as file:
        assert np.array_equal(file["test_labels"], np.tile(labels, (5, 1)))
    folder = tmp_path / "predictions" / "gamma_corr_up"
    folder.mkdir(parents=True)
    np.savez(folder.parent / "clean.npz", probs=labels * 0.8 + 0.1)
    for severity in range(1, 6):
        np.savez(folder / f"{severity}.npz", probs=np.tile([0.6, 0.7, 0.2], (4, 1)))
    scores = run("medmnist-score", directory, folder.parent, "--json").json
    assert (scores["clean"], scores["clean_auc"]) == (0.0, 1.0)
    row = scores["corruptions"]["gamma_corr_up"]
    assert (row["error"], row["auc"]) == (0.5, 0.5)
    assert row["be"] == pytest.approx(0.5 / 0.287462117104012)
    assert row["rbe"] == pytest.approx(0.5 / (0.287462117104012 - 0.2839064387513035))
    assert "gamma_corr_up" in run("medmnist-score", directory, folder.parent).out
    (folder / "3.npz").unlink()
    assert "3.npz does not exist" in run("medmnist-score", directory, folder.parent).err


def test_balanced_accuracy_of_two_classes_uses_threshold(tmp_path):
    from corruptset_medmnist.scores import score

    labels = np.array([[0], [0], [0], [1]], np.uint8)
    _, directory = build_dataset(tmp_path, "breastmnist", labels, ["brightness_up/*"])
    (tmp_path / "p" / "brightness_up").mkdir(parents=True)
    for name in ("clean", *(f"brightness_up/{severity}" for severity in range(1, 6))):
        np.savez(tmp_path / "p" / f"{name}.npz", probs=np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]]))
    assert score(directory, tmp_path / "p")["clean"] == pytest.approx(1 / 6)
    assert score(directory, tmp_path / "p", threshold=0.65)["error"] == pytest.approx((1 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"test_images": np.zeros((2, 28, 28), np.uint8)}, "test_labels"),
        ({"test_images": np.zeros((2, 28, 28), np.uint8), "test_labels": np.zeros(2, np.uint8)}, r"shape \(2,\)"),
        ({"test_images": np.zeros((2, 28, 28)), "test_labels": np.zeros((2, 1), np.uint8)}, "float64"),
        ({"test_images": np.zeros((2, 28, 28), np.uint8), "test_labels": np.full((2, 3), 2)}, "other than 0 and 1"),
    ],
)
def test_source_rejects_unknown_files(tmp_path, arrays, message):
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(SourceError, match=message):
        open_source(f"medmnist:{tmp_path / 'other.npz'}")


def test_source_has_splits_and_rejects_invalid_options(tmp_path):
    path = tmp_path / "pathmnist.npz"
    published_file(path, np.array([[3], [1]], np.uint8), grey=False)
    assert [(sample.id, sample.label) for sample in open_source(f"medmnist:{path}").samples] == [
        ("test/00000", 3),
        ("test/00001", 1),
    ]
    assert [sample.id for sample in open_source(f"medmnist:{path}", split="train").samples] == ["train/00000"]
    with pytest.raises(SourceError, match="expected one of train, val, test"):
        open_source(f"medmnist:{path}", split="all")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(SourceError, match=r"pathmnist\.npz is truncated, damaged or another kind"):
        open_source(f"medmnist:{path}")
