"""Views: every layout as its loaders expect it, refused where it cannot be, there at once or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from layouts import export
from PIL import Image

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.views.registry import VIEWS, layout_class
from corruptset.manifests.verify.views import verify_view

PLAIN = ["contrast/*", "brightness/*"]


@pytest.fixture(scope="session")
def crops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_crops(tmp_path_factory.mktemp("crops"))


@pytest.fixture(scope="session")
def png(crops: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("png")
    return layouts.make(layouts.write_recipe(root), crops, root / "out", format="both")


@pytest.fixture(scope="session")
def jpeg(crops: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("jpeg")
    return layouts.make(layouts.write_recipe(root, encoding="jpeg"), crops, root / "out", format="both")


def pixels(data: bytes) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(data)))


def test_cifar_c_stacks_five_severities_in_the_samples_order_beside_tiled_uint8_labels(png: Path, tmp_path: Path) -> None:
    done = export("cifar-c", png, tmp_path / "data", sets=PLAIN)
    data = corruptset.open(png)
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == ["CIFAR-10-C", "VIEW.json"]
    top = tmp_path / "data/CIFAR-10-C"
    assert done.top == top
    assert sorted(p.name for p in top.iterdir()) == ["brightness.npy", "contrast.npy", "labels.npy"]
    count = len(data.samples)
    for name in ("contrast", "brightness"):
        images = np.load(top / f"{name}.npy")
        assert (images.shape, images.dtype) == ((5 * count, 32, 32, 3), np.uint8)
        for s in range(1, 6):
            np.testing.assert_array_equal(images[(s - 1) * count : s * count], data[f"{name}/{s}"].array())
    labels = np.load(top / "labels.npy")
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, np.tile([s.label for s in data.samples], 5))
    # the very bytes that numpy.save writes: the published files are compared by their md5
    whole = io.BytesIO()
    np.save(whole, labels)
    assert (top / "labels.npy").read_bytes() == whole.getvalue()
    record = json.loads((tmp_path / "data/VIEW.json").read_text("utf-8"))
    assert (record["digest"], record["view"], record["top"]) == (data.digest, "cifar-c", "CIFAR-10-C")


def test_a_hundred_classes_are_cifar_100_c(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=100, each=1, side=8)
    recipe = layouts.write_recipe(tmp_path, more='[[sets]]\ncorruptions = ["contrast"]\n')
    built = layouts.make(recipe, crops, tmp_path / "out")
    export("cifar-c", built, tmp_path / "data")
    assert np.load(tmp_path / "data/CIFAR-100-C/labels.npy").tolist() == list(range(100)) * 5


@pytest.mark.parametrize(("view", "top"), [("imagenet-c", "ImageNet-C"), ("tiny-imagenet-c", "Tiny-ImageNet-C")])
def test_severity_folders_hold_class_folders_alone_and_link_the_builds_files(jpeg: Path, tmp_path: Path, view: str, top: str) -> None:
    done = export(view, jpeg, tmp_path / "data", sets=PLAIN)
    data = corruptset.open(jpeg)
    for name in ("contrast", "brightness"):
        for s in range(1, 6):
            folder = tmp_path / "data" / top / name / str(s)
            classes = sorted(os.listdir(folder))
            assert classes == [c.folder for c in data.classes]
            rows = data[f"{name}/{s}"].rows
            for sample, row in zip(data.samples, rows, strict=True):
                path = folder / f"{sample.id}.JPEG"
                assert classes.index(path.relative_to(folder).parts[0]) == sample.label
                built = jpeg / next(f.path for f in row.files if f.row is None)
                assert path.samefile(built)
            assert sum(1 for p in folder.rglob("*") if p.is_file()) == len(rows)
    assert done.linked == done.images == 10 * len(data.samples)


def test_where_links_cannot_be_files_are_copied(jpeg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    export("imagenet-c", jpeg, tmp_path / "linked", sets=PLAIN)
    monkeypatch.setattr(os, "link", refuse)
    done = export("imagenet-c", jpeg, tmp_path / "copied", sets=PLAIN)
    assert done.linked == 0
    assert layouts.files_of(tmp_path / "linked") == layouts.files_of(tmp_path / "copied")
    assert all(p.stat().st_nlink == 1 for p in (tmp_path / "copied").rglob("*.JPEG"))


def test_a_build_of_shards_alone_gives_the_same_views(crops: Path, png: Path, jpeg: Path, tmp_path: Path) -> None:
    for encoding, both in (("jpeg", jpeg), ("png", png)):
        shards = layouts.make(layouts.write_recipe(tmp_path, encoding=encoding), crops, tmp_path / f"out-{encoding}", format="hdf5")
        for view in ("imagenet-c", "cifar-c", "webdataset"):
            one, other = tmp_path / f"{encoding}-{view}", tmp_path / f"{encoding}-{view}-shards"
            export(view, both, one, sets=PLAIN)
            export(view, shards, other, sets=PLAIN)
            assert layouts.files_of(one) == layouts.files_of(other), view


def test_the_5k_view_takes_the_list_and_fills_the_classes_that_it_leaves_empty(jpeg: Path, tmp_path: Path) -> None:
    names = [f"{c:02d}_class/im.{c % 2}.JPEG {c}" for c in range(10) if c not in (2, 5, 9)]
    (tmp_path / "list.txt").write_text("\n".join(names) + "\n")
    done = export("imagenet-c-5k", jpeg, tmp_path / "data", sets=PLAIN, images=tmp_path / "list.txt")
    folder = tmp_path / "data/ImageNet-C/contrast/3"
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*.JPEG")}
    assert found == {n.split()[0] for n in names} | {f"{c:02d}_class/im.0.JPEG" for c in (2, 5, 9)}
    assert any("3 more keep class folders" in note and "02_class, 05_class, 09_class" in note for note in done.notes)
    (tmp_path / "bad.txt").write_text("00_class/im.0.JPEG\nno-such-one.JPEG\nim.1.JPEG\n")
    with pytest.raises(BuildError, match=r"no-such-one.JPEG: is not among the samples\n  im.1.JPEG: names 10 samples"):
        export("imagenet-c-5k", jpeg, tmp_path / "other", sets=PLAIN, images=tmp_path / "bad.txt")
    with pytest.raises(BuildError, match="--list"):
        export("imagenet-c-5k", jpeg, tmp_path / "other", sets=PLAIN)
    assert not (tmp_path / "other").exists()


def test_a_class_without_images_is_refused_or_said(crops: Path, tmp_path: Path) -> None:
    built = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "out", first=7)
    for view in ("imagenet-c", "tiny-imagenet-c"):
        with pytest.raises(
            BuildError, match=r"6 of 10 classes have none:\n  04_class\n.*\n.*\n.*\n.*\n  09_class\n.*--allow-missing-classes"
        ):
            export(view, built, tmp_path / view, sets=PLAIN)
        assert not (tmp_path / view).exists()
        done = export(view, built, tmp_path / view, sets=PLAIN, allow_missing_classes=True)
        assert any("differ from the manifest's" in note for note in done.notes)
        assert "differ from the manifest's" in (tmp_path / view / "VIEW.json").read_text("utf-8")
        assert len(os.listdir(done.top / "contrast/1")) == 4
    # arrays carry their labels, so nothing is lost in them
    export("cifar-c", built, tmp_path / "arrays", sets=PLAIN)
    assert np.load(tmp_path / "arrays/CIFAR-10-C/labels.npy")[:7].tolist() == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c", "tiny-imagenet-c"])
def test_sets_without_five_severities_are_refused_all_at_once_and_never_padded(png: Path, tmp_path: Path, view: str) -> None:
    with pytest.raises(BuildError) as e:
        export(view, png, tmp_path / "data", sets=["clean", "contrast-3+*", "brightness/[124]", "contrast/*"])
    text = str(e.value)
    assert "clean: the clean images have no severity" in text
    assert "contrast-3+brightness-2: 2 corruptions in a row have no severity" in text
    assert "brightness: has severities 1, 2, 4, not 3, 5" in text
    assert "contrast: " not in text
    assert "--severities" in text
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_severities_places_other_sets_and_names_what_is_left_out(png: Path, tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text('[severities]\nmixed = ["clean", "contrast/2", "contrast/2", "contrast-3+brightness-2", "brightness/5"]\n')
    done = export("cifar-c", png, tmp_path / "data", severities=file, sets=["clean", "contrast*", "brightness/5"])
    data = corruptset.open(png)
    images = np.load(done.top / "mixed.npy")
    for s, name in enumerate(["clean", "contrast/2", "contrast/2", "contrast-3+brightness-2", "brightness/5"]):
        np.testing.assert_array_equal(images[s * 20 : s * 20 + 20], data[name].array())
    assert {p.name for p in done.top.iterdir()} == {"mixed.npy", "contrast.npy", "labels.npy"}


def test_mistakes_in_a_file_of_severities_are_listed_together(png: Path, tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    five = '["clean", "clean", "clean", "clean", "clean"]'
    file.write_text(f'[severities]\n"../x" = {five}\nshort = ["clean"]\nodd = ["clean","fog/2","b","c","d"]\n')
    with pytest.raises(BuildError) as e:
        export("cifar-c", png, tmp_path / "data", severities=file)
    for part in ("'../x' is not a name", "short lists 1 sets; expected 5", "odd: there is no set 'fog/2' here", "no set 'b'"):
        assert part in str(e.value)
    for text in ("severities = 3", "[severities]\na = 3\n", "[other]\na = []\n", "=", "[severities]\n"):
        file.write_text(text)
        with pytest.raises(BuildError, match=r"map\.toml"):
            export("cifar-c", png, tmp_path / "data", severities=file)
    with pytest.raises(BuildError, match=r"openood does not take --severities, --allow-missing-classes"):
        export("openood", png, tmp_path / "data", severities={"a": ["clean"] * 5}, allow_missing_classes=True)
    assert not (tmp_path / "data").exists()


def test_mnist_c_has_one_set_a_name_identity_and_channels_last(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", side=28, mode="L")
    built = layouts.make(layouts.write_recipe(tmp_path, name="digits-c", channels="keep"), crops, tmp_path / "out")
    data = corruptset.open(built)
    with pytest.raises(BuildError, match="contrast: is contrast/1, contrast/2"):
        export("mnist-c", built, tmp_path / "all")
    done = export("mnist-c", built, tmp_path / "data", sets=["clean", "contrast/2"])
    assert {p.name for p in done.top.iterdir()} == {"identity", "contrast"}
    for name, set_id in (("identity", "clean"), ("contrast", "contrast/2")):
        assert {p.name for p in (done.top / name).iterdir()} == {"test_images.npy", "test_labels.npy"}
        images = np.load(done.top / name / "test_images.npy")
        assert (images.shape, images.dtype) == ((20, 28, 28, 1), np.uint8)
        np.testing.assert_array_equal(images, data[set_id].array())
        np.testing.assert_array_equal(np.load(done.top / name / "test_labels.npy"), data[set_id].labels)
    assert verify_view(tmp_path / "data").ok


def test_tars_are_deterministic_and_their_keys_have_no_dots(png: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corruptset.generate.views import webdataset

    monkeypatch.setattr(webdataset, "SHARD", 8)
    done = export("webdataset", png, tmp_path / "a")
    monkeypatch.setattr("time.time", lambda: 12345.0)
    export("webdataset", png, tmp_path / "b")
    assert layouts.files_of(tmp_path / "a") == layouts.files_of(tmp_path / "b")
    data = corruptset.open(png)
    said = json.loads((tmp_path / "a/VIEW.json").read_text("utf-8"))["sets"]
    tops = [(set_id, f"small-c-1.0.0/{set_id}/{k:06d}.tar") for set_id in data.set_ids for k in range(3)]
    assert sorted((s["id"], s["path"]) for s in said) == sorted(tops)
    for set_id in data.set_ids:
        tars = sorted((done.top / set_id).glob("*.tar"))
        assert [t.name for t in tars] == ["000000.tar", "000001.tar", "000002.tar"]
        index = 0
        for tar in tars:
            with tarfile.open(tar) as archive:
                members = archive.getmembers()
                assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {(0, 0, 0, "", "", 0o644)}
                contents = {m.name: archive.extractfile(m).read() for m in members}  # type: ignore[union-attr]
            assert {name.count(".") for name in contents} == {1}
            for key in dict.fromkeys(name.partition(".")[0] for name in contents):
                np.testing.assert_array_equal(pixels(contents[f"{key}.png"]), data[set_id].image(index))
                assert int(contents[f"{key}.cls"]) == data.samples[index].label
                assert json.loads(contents[f"{key}.json"])["id"] == data.samples[index].id
                index += 1
        assert index == 20


def test_a_numbered_class_is_named_by_its_name_and_labelled_by_its_number(crops: Path, tmp_path: Path) -> None:
    """Labels of two digits whose classes have names (``3``) and folders (``03``) of their own, and no label is a sample's number."""
    (tmp_path / "flat").mkdir()
    for i, path in enumerate(sorted(crops.rglob("*.png"))[:12]):
        shutil.copyfile(path, tmp_path / f"flat/{i}.png")
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{i}.png,{11 - i}\n" for i in range(12)))
    built = layouts.make(
        layouts.write_recipe(tmp_path), tmp_path / "flat", tmp_path / "out", labels=tmp_path / "labels.csv", sets=["clean"]
    )
    data = corruptset.open(built)
    assert [(c.name, c.folder) for c in data.classes][2:4] == [("2", "02"), ("3", "03")]
    # code points: 0, 1, 10, 11, 2, ...
    assert data["clean"].labels.tolist() == [11, 10, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2]
    top = export("webdataset", built, tmp_path / "w").top
    with tarfile.open(top / "clean/000000.tar") as archive:
        contents = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]
    for index, sample in enumerate(data.samples):
        record = json.loads(contents[f"{index:08d}.json"])
        assert (record["label"], record["class"], record["id"]) == (sample.label, str(sample.label), sample.id)
        assert contents[f"{index:08d}.cls"] == str(sample.label).encode()
    top = export("openood", built, tmp_path / "o").top
    lines = (top / "lists/clean.txt").read_text().splitlines()
    assert [int(line.rpartition(" ")[2]) for line in lines] == data["clean"].labels.tolist()
    assert [line.split("/")[1] for line in lines] == [f"{s.label:02d}" for s in data.samples]


def test_lists_and_metadata_name_every_image(png: Path, tmp_path: Path) -> None:
    data = corruptset.open(png)
    top = export("openood", png, tmp_path / "o").top
    for set_id in data.set_ids:
        lines = (top / "lists" / f"{set_id}.txt").read_text("utf-8").splitlines()
        for index, line in enumerate(lines):
            path, label = line.split(" ")
            np.testing.assert_array_equal(pixels((top / "images" / path).read_bytes()), data[set_id].image(index))
            assert int(label) == data.samples[index].label
        assert len(lines) == 20
    top = export("imagefolder", png, tmp_path / "h").top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 12 * 20 == sum(1 for p in top.rglob("*.png"))
    for n, row in enumerate(rows):
        np.testing.assert_array_equal(pixels((top / row["file_name"]).read_bytes()), data[row["set"]].image(n % 20))
        assert row["label"] == data.samples[n % 20].label
        plain = "+" not in row["set"] and row["set"] != "clean"
        assert f"{row['corruption']}/{row['severity']}" == row["set"] if plain else (row["corruption"], row["severity"]) == (row["set"], 0)


def test_croissant_names_every_tar_with_its_hash(png: Path, tmp_path: Path) -> None:
    top = export("croissant", png, tmp_path / "c").top
    record = json.loads((top / "croissant.json").read_text("utf-8"))
    assert record["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    objects = {o["contentUrl"]: o["sha256"] for o in record["distribution"] if o["@type"] == "cr:FileObject"}
    assert objects == {p.relative_to(top).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in top.rglob("*.tar")}
    assert [r["@id"] for r in record["recordSet"]] == corruptset.open(png).set_ids


def test_nothing_is_left_of_an_export_that_stops(png: Path, tmp_path: Path) -> None:
    def stop(step: str, done: int, total: int) -> None:
        if done > total // 3:
            raise KeyboardInterrupt

    for view in ("imagenet-c", "cifar-c", "webdataset"):
        with pytest.raises(KeyboardInterrupt):
            export(view, png, tmp_path / "data", sets=PLAIN, progress=stop)
        assert list(tmp_path.iterdir()) == []


def test_targets_in_the_way_are_refused(png: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = layouts.files_of(png)
    for out, match in [
        (tmp_path / "full", r"is not empty \(mine.txt\)"), (tmp_path / "file", "not a folder"), (tmp_path / "link", "not a folder"),
        (png / "views", "lies in the data set itself"), (png, "lies in the data set itself"),
    ]:  # fmt: skip
        with pytest.raises(BuildError, match=match):
            export("cifar-c", png, out, sets=PLAIN)
    assert layouts.files_of(png) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "full", "link"]
    (tmp_path / "empty").mkdir()
    export("cifar-c", png, tmp_path / "empty", sets=PLAIN)
    assert verify_view(tmp_path / "empty").ok


def test_unknown_views_and_sets_are_named(png: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="Did you mean 'imagenet-c'"):
        export("imagenet_c", png, tmp_path / "x")
    with pytest.raises(BuildError, match=r"'fogg/\*' matches no set"):
        export("imagefolder", png, tmp_path / "x", sets=["fogg/*"])


def test_every_view_is_documented() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for page in ("command-line.md", "use-it-with.md"):
        text = (docs / page).read_text("utf-8")
        assert [v for v in VIEWS if f"`{v}`" not in text and f"export {v} " not in text] == [], page
    views = [p.stem for p in (docs.parent / "generate/views").glob("*.py") if p.read_text("utf-8").startswith('"""The view ``')]
    assert {name.replace("_", "-") for name in views} == set(VIEWS)
    for name in VIEWS:
        assert layout_class(name).__module__.rpartition(".")[2] == name.replace("-", "_")
