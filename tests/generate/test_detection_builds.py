"""Builds of images without labels: paths, formats and annotation files are the source's, and all that a build can do
works.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from detection_sets import ODD, RECIPE, SIZES, picture, write_cityscapes, write_coco, write_tree
from PIL import Image

import corruptset
from corruptset.errors import BuildError, ParameterError, SourceError
from corruptset.generate.reproduction.verify import verify
from corruptset.manifests.records.digests import sha256_file

IMAGES = "val2017/*.jpg"
SETS = {"clean", "contrast/1", "contrast/3", "elastic_transform/1", "elastic_transform/3"}
PAGE = Path(__file__).resolve().parents[2] / "docs/detection.md"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "small.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def coco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_coco(tmp_path_factory.mktemp("coco"))


def made(recipe: Path | str, source: str, out: Path, **options: Any) -> corruptset.generate.build.Built:
    return corruptset.build(
        recipe, source, out, **{"jobs": 1, "metrics": 0, "page": False, "progress": False, **options}
    )


@pytest.fixture(scope="module")
def built(recipe: Path, coco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(recipe, f"tree:{coco}", tmp_path_factory.mktemp("built"), images=IMAGES, page=True, metrics=2).directory


def test_paths_sizes_and_other_files_are_the_sources(built: Path, coco: Path) -> None:
    for set_id in SETS:
        for number, size in enumerate(SIZES, 1):
            with Image.open(built / "images" / set_id / f"val2017/{number:012d}.jpg") as image:
                assert (image.format, image.mode, image.size) == ("JPEG", "RGB", size)
    assert len(list((built / "images").rglob("*.jpg"))) == len(SETS) * len(SIZES)
    manifest = corruptset.open(built).manifest
    listed = {f.path: f.sha256 for f in manifest.files}
    kept = [
        "annotations/captions_val2017.json",
        "annotations/instances_val2017.json",
        "annotations/instances_other.json",
    ]
    # an image that the pattern does not name is copied, not corrupted
    for path in (*kept, "train2017/999999999999.jpg"):
        assert (built / path).read_bytes() == (coco / path).read_bytes()
        assert listed[path] == sha256_file(coco / path)
    assert manifest.selection["images"] == IMAGES


def test_it_reads_without_labels(built: Path) -> None:
    data = corruptset.open(built)
    assert set(data) == SETS
    rows = [json.loads(line) for line in (built / "samples.jsonl").read_text().splitlines()]
    assert all({"label", "class"}.isdisjoint(row) for row in rows)
    assert [label for _, label in data["contrast/3"]] == [None] * 3
    image, label = data["contrast/3"][1]
    assert (image.shape, label, data["contrast/3"].label(0)) == ((48, 32, 3), None, None)
    assert data["contrast/3"][[1, 1]][1] == [None, None]
    with Image.open(data.path / "images/contrast/3" / (data.samples[1].path or "")) as stored:
        np.testing.assert_array_equal(np.asarray(stored), image)
    with pytest.raises(ParameterError, match="no labels"):
        _ = data["contrast/3"].labels
    assert data["clean"]._repr_html_()


def test_what_moves_content_is_said(built: Path, recipe: Path, coco: Path) -> None:
    view = corruptset.open(built).manifest.views[0]
    assert (view["view"], view["own_names"], view["moves_content"]) == ("source-tree", True, ["elastic_transform"])
    card = (built / "README.md").read_text()
    assert "Content moves in elastic_transform" in card
    assert "other files lie beside them" in card
    assert "None}" not in card
    assert "(H, W, C), None" in card
    assert "Pixels move by more than a blur moves them" in (built / "index.html").read_text()
    planned = corruptset.plan(recipe, f"tree:{coco}", images=IMAGES, samples=2)
    assert planned.moves_content == ("elastic_transform",)
    assert any("boxes and masks are not moved" in note for note in planned.notes)
    assert any("may name 3 images, of which 2 are built" in note for note in planned.notes)
    (note,) = corruptset.plan(recipe, f"tree:{coco}", images=IMAGES, sets=["contrast/*"]).notes
    assert re.fullmatch(r"4 other files of the source, .* kB, are copied as they are\.", note)
    assert any(
        "in pixels of the images as they were" in n
        for n in corruptset.plan("imagenet-c", f"tree:{coco}", images=IMAGES, any_shape=True).notes
    )
    assert corruptset.show("detection-c")["moves_content"] == ["elastic_transform"]


def test_verify_rederive_and_repair(built: Path, coco: Path, tmp_path: Path) -> None:
    report = verify(built, rederive=3, source=f"tree:{coco}", progress=False)
    assert report.ok, report.problems
    data = shutil.copytree(built, tmp_path / "data")
    (data / "annotations/captions_val2017.json").write_text("{}")
    (data / "train2017/999999999999.jpg").unlink()
    first, second = (data / f"images/contrast/3/val2017/{n:012d}.jpg" for n in (1, 2))
    first.unlink()
    os.rename(second, second.with_suffix(".JPG"))
    kinds = {(p.path, p.kind) for p in verify(data, progress=False).problems}
    assert ("annotations/captions_val2017.json", "hash") in {*kinds, *((p, "hash") for p, k in kinds if k == "size")}
    assert ("images/contrast/3/val2017/000000000001.jpg", "missing") in kinds
    assert ("images/contrast/3/val2017/000000000002.JPG", "unexpected") in kinds
    os.rename(second.with_suffix(".JPG"), second)
    assert verify(data, repair=True, source=f"tree:{coco}", jobs=1, progress=False).ok
    assert layouts.files_of(data) == layouts.files_of(built)


def test_an_image_in_anothers_place_is_found(built: Path, tmp_path: Path) -> None:
    data = shutil.copytree(built, tmp_path / "data")
    rows = data / "sets/contrast/3.jsonl"
    rows.write_text(
        rows.read_text()
        .replace("000000000001", "x")
        .replace("000000000002", "000000000001")
        .replace("/x.jpg", "/000000000002.jpg")
    )
    said = [p.detail for p in verify(data, progress=False).problems if p.path == "sets/contrast/3.jsonl"]
    assert any("expected is images/contrast/3/val2017/000000000001.jpg" in detail for detail in said)


def test_pack_unpack_export_rebuild_and_virtual(built: Path, coco: Path, tmp_path: Path) -> None:
    corruptset.pack(built, tmp_path / "packed", progress=False)
    corruptset.unpack(sorted((tmp_path / "packed/data").iterdir()), tmp_path / "unpacked", progress=False)
    (whole,) = (tmp_path / "unpacked").iterdir()
    assert layouts.files_of(whole) == layouts.files_of(built)
    corruptset.export("source-tree", built, tmp_path / "exported", progress=False)
    assert layouts.files_of(tmp_path / "exported/images") == layouts.files_of(built / "images")
    assert verify(built, view=tmp_path / "exported", progress=False).ok
    with pytest.raises(BuildError, match="place for labels"):
        corruptset.export("webdataset", built, tmp_path / "none", progress=False)
    corruptset.pack(built, tmp_path / "records", manifest_only=True, progress=False)
    source = f"tree:{coco}"
    again = corruptset.rebuild(tmp_path / "records", source, tmp_path / "again", jobs=1, progress=False)
    assert again.identical
    assert again.whole
    virtual, stored = corruptset.open(tmp_path / "records", source=source, check="each"), corruptset.open(built)
    for set_id in SETS:
        for (image, label), (other, _) in zip(virtual[set_id], stored[set_id], strict=True):
            assert label is None
            np.testing.assert_array_equal(image, other)


def test_it_is_extended(recipe: Path, coco: Path, built: Path, tmp_path: Path) -> None:
    root = shutil.copytree(coco, tmp_path / "coco")
    (root / "notes.txt").write_text("is gone when the build is extended")
    for sets in (["contrast/*"], None):
        done = made(recipe, f"tree:{root}", tmp_path / "out", sets=sets, images=IMAGES, page=True, metrics=2).directory
        (root / "notes.txt").unlink(missing_ok=True)
    assert layouts.files_of(done) == layouts.files_of(built)
    with pytest.raises(BuildError, match=r"selection\.images: here 'val2017/\*\.jpg', asked for 'val2017/\*'"):
        made(recipe, f"tree:{root}", tmp_path / "out", images="val2017/*")


def test_any_tree_keeps_names_and_formats(recipe: Path, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree")
    picture(30, 20).convert("L").save(root / "grey.jpg")
    picture(30, 20).convert("CMYK").save(root / "print.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(30, 20).save(root / "turned.jpg", exif=exif)
    Image.fromarray((np.arange(30 * 20).reshape(20, 30) * 100).astype(np.uint16)).save(root / "deep.png")
    out = made(recipe, f"tree:{root}", tmp_path, sets=["clean", "contrast/3"]).directory
    names = {*ODD, "grey.jpg", "print.jpg", "turned.jpg", "deep.png"}
    for set_id in ("clean", "contrast/3"):
        folder = out / "images" / set_id
        assert {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} == names
        for name in names:
            with Image.open(folder / name) as image, Image.open(root / name) as before:
                assert (image.format, image.mode, image.size) == (before.format, "RGB", before.size), name
                assert not image.getexif()
    with Image.open(out / "images/clean/x.png") as image, Image.open(root / "x.png") as before:
        np.testing.assert_array_equal(np.asarray(image), np.asarray(before))
        expected = corruptset.corrupt(
            np.array(before), "contrast", severity=3, calibration="imagenet", scale="none", key="x.png"
        )
    np.testing.assert_array_equal(np.asarray(Image.open(out / "images/contrast/3/x.png")), expected)
    report = verify(out, rederive=20, source=f"tree:{root}", progress=False)
    assert report.ok, report.problems
    data, virtual = corruptset.open(out), corruptset.open(out, source=f"tree:{root}", check="each")
    for i in range(len(names)):
        np.testing.assert_array_equal(data["contrast/3"].image(i), virtual["contrast/3"].image(i))
    # a PNG of a data set of JPEGs is held to its pixels, and a source whose PNG is another one is refused
    assert data.manifest.encoding["format"] == "jpeg"
    picture(33, 37, 9).save(root / "x.png")
    with pytest.raises(SourceError, match=r"x\.png: is sha256"):
        verify(out, rederive=20, source=f"tree:{root}", progress=False)


def test_pngs_alone_are_a_lossless_data_set(recipe: Path, tmp_path: Path) -> None:
    root = write_cityscapes(tmp_path / "cityscapes")
    out = made(recipe, f"tree:{root}", tmp_path, images="leftImg8bit/val/*", sets=["contrast/3"]).directory
    data = corruptset.open(out)
    assert data.manifest.encoding == {"format": "png", "containers": ["view"]}
    assert data["contrast/3"].verify() == data["contrast/3"].record.pixel_digest
    assert len(layouts.files_of(root / "gtFine")) == 6
    assert layouts.files_of(out / "gtFine") == layouts.files_of(root / "gtFine")  # label images among them
    assert (out / "images/contrast/3/leftImg8bit/val/lindau/lindau_000001_000019_leftImg8bit.png").is_file()
    assert verify(out, progress=False, rederive=2, source=f"tree:{root}").ok


def test_names_that_a_data_set_has_itself_stay_its_own(recipe: Path, tmp_path: Path) -> None:
    """YOLO's layout: images/ and labels/ side by side, a README.md, and a cache beside the images."""
    root = write_tree(tmp_path / "yolo", ["images/val/x.jpg", "images/train/y.jpg"])
    (root / "labels/val").mkdir(parents=True)
    for name in ("labels/val/x.txt", "images/val.cache", "ReadMe.md", "data.yaml", "split.mat"):
        (root / name).write_text(name)
    done = made(recipe, f"tree:{root}", tmp_path / "out", sets=["contrast/3"], images="images/val/*.jpg")
    files = layouts.files_of(done.directory)
    assert {path: files[path].decode() for path in files if files[path] == path.encode()} == {
        path: path for path in ("labels/val/x.txt", "data.yaml", "split.mat")
    }
    assert [path for path in files if path.startswith("images/")] == ["images/contrast/3/images/val/x.jpg"]
    assert any(note.startswith("ReadMe.md, images/train/y.jpg, images/val.cache: not copied") for note in done.notes)
    assert verify(done.directory, progress=False).ok


def test_what_needs_labels_or_other_places_is_refused_at_once(recipe: Path, coco: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError) as e:
        made(recipe, f"tree:{coco}", tmp_path, images=IMAGES, format="hdf5", per_class=1)
    assert re.search("--format hdf5 stores images in HDF5 shards, which have no names(.|\n)*--per-class", str(e.value))
    with pytest.raises(BuildError, match="place for labels"):
        made(recipe, f"tree:{coco}", tmp_path, images=IMAGES, view="openood")
    assert not any(tmp_path.iterdir())


def test_bad_images_are_listed_before_anything_is_written(recipe: Path, coco: Path, tmp_path: Path) -> None:
    root = shutil.copytree(coco, tmp_path / "coco")
    (root / "val2017/000000000002.jpg").write_bytes(b"no JPEG")
    (root / "annotations/Captions_val2017.json").write_text("{}")
    with pytest.raises(SourceError) as e:
        made(recipe, f"tree:{root}", tmp_path / "out", images=IMAGES)
    assert "val2017/000000000002.jpg: " in str(e.value)
    assert "annotations/captions_val2017.json: has the same name as annotations/Captions_val2017.json" in str(e.value)
    assert not (tmp_path / "out").exists()
    kept = made(recipe, f"tree:{root}", tmp_path / "out", images=IMAGES, skip_bad=True, sets=["clean"])
    assert [s.path for s in corruptset.open(kept.directory).samples] == [f"val2017/{n:012d}.jpg" for n in (1, 3)]
    assert len(kept.manifest.excluded) == 3


@pytest.mark.ci
def test_pycocotools_opens_it_as_the_docs_say(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (snippet,) = [
        text for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "COCOeval" in text
    ]
    truth = json.loads((built / "annotations/instances_val2017.json").read_text())
    seen = []

    def detect(path: str, image_id: int) -> list[dict[str, Any]]:
        with Image.open(path) as image:
            seen.append(image.size)
        found = [a for a in truth["annotations"] if a["image_id"] == image_id]
        wrong = "contrast/3" in path
        return [
            {"image_id": image_id, "category_id": a["category_id"], "bbox": a["bbox"], "score": 0.9}
            for a in found[wrong:]
        ]

    (tmp_path / "detection-c-1.0.0").symlink_to(built)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"detect": detect}
    exec(snippet.replace("fog/{severity}", "contrast/{severity}").replace("range(1, 6)", "(1, 3)"), names)
    assert seen == SIZES * 3
    assert (names["metrics"]["clean"]["AP"], names["metrics"]["contrast/3"]["AP"]) == (1.0, 0.5)
    scores = corruptset.score_table(tmp_path / "metrics.json")
    assert scores.metrics["AP"].clean == 1
    assert "contrast/2" in scores.metrics["AP"].missing
