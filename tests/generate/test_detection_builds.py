"""Test builds of images without labels, which keep the paths, formats and annotation files of their source."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import small_builds
from detection_sets import ODD_NAMES, RECIPE, SIZES, example_image, write_cityscapes, write_coco, write_tree
from PIL import Image

import corruptset
from corruptset.errors import BuildError, ParameterError, SourceError
from corruptset.generate.reproduction.verify import verify
from corruptset.manifests.records.digests import sha256_file

IMAGES = "val2017/*.jpg"
SETS = {"clean", "contrast/1", "contrast/3", "elastic_transform/1", "elastic_transform/3"}
PAGE = Path(__file__).resolve().parents[2] / "docs/detection.md"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "small.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    return write_coco(tmp_path_factory.mktemp("coco"))


def build_tree(recipe, root, out, **options):
    """Build the dataset of a tree."""
    return corruptset.build(recipe, f"tree:{root}", out, **{"jobs": 1, "metrics": 0, "page": False, **options})


@pytest.fixture(scope="module")
def dataset_dir(recipe, coco, tmp_path_factory):
    return build_tree(recipe, coco, tmp_path_factory.mktemp("built"), images=IMAGES, page=True, metrics=2).directory


def test_paths_sizes_and_other_files_match_source(dataset_dir, coco):
    data = corruptset.open(dataset_dir)
    assert set(data) == SETS
    for set_id in SETS:
        for number, size in enumerate(SIZES, 1):
            with Image.open(dataset_dir / "images" / set_id / f"val2017/{number:012d}.jpg") as image:
                assert (image.format, image.mode, image.size) == ("JPEG", "RGB", size)
    assert len(list((dataset_dir / "images").rglob("*.jpg"))) == len(SETS) * len(SIZES)
    digests = {f.path: f.sha256 for f in data.manifest.files}
    others = [f"annotations/{name}.json" for name in ("captions_val2017", "instances_val2017", "instances_other")]
    for path in (*others, "train2017/999999999999.jpg"):  # an image that the pattern does not name is only copied
        assert (dataset_dir / path).read_bytes() == (coco / path).read_bytes()
        assert digests[path] == sha256_file(coco / path)
    assert data.manifest.selection["images"] == IMAGES
    # it reads without labels
    rows = [json.loads(line) for line in (dataset_dir / "samples.jsonl").read_text().splitlines()]
    assert all({"label", "class"}.isdisjoint(row) for row in rows)
    image, label = data["contrast/3"][1]
    assert (image.shape, label, data["contrast/3"][[1, 1]][1]) == ((48, 32, 3), None, [None, None])
    with pytest.raises(ParameterError, match="needs labels"):
        _ = data["contrast/3"].labels
    assert data["clean"]._repr_html_()


def test_corruptions_that_move_content_are_reported(dataset_dir, recipe, coco):
    assert corruptset.open(dataset_dir).manifest.recipe["moves_content"] == ["elastic_transform"]
    card = (dataset_dir / "README.md").read_text()
    for message in (
        "not boxes and masks: elastic_transform",
        "other files of the source are next to them",
        "(H, W, C), None",
    ):
        assert message in card
    assert "boxes and masks of the clean images do not fit" in (dataset_dir / "index.html").read_text()
    build_plan = corruptset.plan(recipe, f"tree:{coco}", images=IMAGES, samples=2)
    assert build_plan.moves_content == ("elastic_transform",)
    notes = "\n".join(build_plan.notes)
    assert re.search(r"boxes and masks are not changed(.|\n)*all 3 images of the source, but only 2 are built", notes)
    counts_note, unmatched, note = corruptset.plan(recipe, f"tree:{coco}", images=IMAGES, sets=["contrast/*"]).notes
    assert counts_note == "Files of the source that are treated as images: 3, in val2017/ (3)."
    assert unmatched.startswith(
        f"Files with the suffix of an image that --images {IMAGES!r} does not match: 1, in train2017/"
    )
    assert re.fullmatch(r"4 other files of the source, .* kB, are copied unchanged\.", note)
    resized = corruptset.plan("imagenet-c", f"tree:{coco}", images=IMAGES, sets=["contrast/1"], any_shape=True)
    assert any("in pixels of the original images" in note for note in resized.notes)


def test_detection_build_is_verified_rederived_and_repaired(dataset_dir, coco, tmp_path):
    report = verify(dataset_dir, rederive=3, source=f"tree:{coco}")
    assert report.ok, report.problems
    data = shutil.copytree(dataset_dir, tmp_path / "data")
    (data / "annotations/captions_val2017.json").write_text("{}")
    (data / "train2017/999999999999.jpg").unlink()
    first, second = (data / f"images/contrast/3/val2017/{n:012d}.jpg" for n in (1, 2))
    first.unlink()
    second.rename(second.with_suffix(".JPG"))
    kinds = {p.path: p.kind for p in verify(data).problems}
    assert kinds["annotations/captions_val2017.json"] in ("size", "hash")
    assert kinds["images/contrast/3/val2017/000000000001.jpg"] == "missing"
    assert kinds["images/contrast/3/val2017/000000000002.JPG"] == "unexpected"
    second.with_suffix(".JPG").rename(second)
    assert verify(data, repair=True, source=f"tree:{coco}", jobs=1).ok
    assert small_builds.read_files(data) == small_builds.read_files(dataset_dir)
    # an image in another's place
    rows = data / "sets/contrast/3.jsonl"
    for old, new in (("000000000001", "x"), ("000000000002", "000000000001"), ("/x.jpg", "/000000000002.jpg")):
        rows.write_text(rows.read_text().replace(old, new))
    details = [p.detail for p in verify(data).problems if p.path == "sets/contrast/3.jsonl"]
    assert any("images/contrast/3/val2017/000000000001.jpg is expected" in detail for detail in details)


def test_detection_build_supports_pack_export_rebuild_and_virtual(dataset_dir, coco, tmp_path):
    corruptset.pack(dataset_dir, tmp_path / "packed", by="family")
    card = (tmp_path / "packed/README.md").read_text("utf-8")
    assert "| `contrast/1`, `contrast/3`, `elastic_transform/1`, `elastic_transform/3` |" in card
    corruptset.unpack(sorted((tmp_path / "packed/data").iterdir()), tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert small_builds.read_files(unpacked) == small_builds.read_files(dataset_dir)
    corruptset.export("source-tree", dataset_dir, tmp_path / "exported")
    assert small_builds.read_files(tmp_path / "exported/images") == small_builds.read_files(dataset_dir / "images")
    assert verify(dataset_dir, export=tmp_path / "exported").ok
    with pytest.raises(BuildError, match="contains labels"):
        corruptset.export("webdataset", dataset_dir, tmp_path / "none")
    corruptset.pack(dataset_dir, tmp_path / "records", manifest_only=True)
    result = corruptset.rebuild(tmp_path / "records", f"tree:{coco}", tmp_path / "again", jobs=1)
    assert (result.identical, result.whole) == (True, True)
    virtual, stored = (
        corruptset.open(tmp_path / "records", source=f"tree:{coco}", check="each"),
        corruptset.open(dataset_dir),
    )
    for set_id in SETS:
        for (image, label), (other, _) in zip(virtual[set_id], stored[set_id], strict=True):
            assert label is None
            np.testing.assert_array_equal(image, other)


def test_detection_build_can_be_extended(recipe, coco, dataset_dir, tmp_path):
    root = shutil.copytree(coco, tmp_path / "coco")
    (root / "notes.txt").write_text("is gone when the build is extended")
    options = {"images": IMAGES, "page": True, "metrics": 2}
    first = build_tree(recipe, root, tmp_path / "first", sets=["contrast/*"], **options).directory
    (root / "notes.txt").unlink()
    result = build_tree(recipe, root, tmp_path / "out", extend=first, **options).directory
    assert small_builds.read_files(result) == small_builds.read_files(dataset_dir)
    with pytest.raises(BuildError, match=r"selection\.images: existing 'val2017/\*\.jpg', requested 'val2017/\*'"):
        build_tree(recipe, root, tmp_path / "out", images="val2017/*")


def test_any_tree_keeps_names_and_formats(recipe, tmp_path):
    root, exif = write_tree(tmp_path / "tree"), Image.Exif()
    exif[0x0112] = 6
    odd = {"grey.jpg": example_image(30, 20).convert("L"), "print.jpg": example_image(30, 20).convert("CMYK")}
    odd |= {"deep.png": Image.fromarray((np.arange(600).reshape(20, 30) * 100).astype(np.uint16))}
    for name, image in (odd | {"turned.jpg": example_image(30, 20)}).items():
        image.save(root / name, **({"exif": exif} if name == "turned.jpg" else {}))
    out = build_tree(recipe, root, tmp_path, sets=["clean", "contrast/3"]).directory
    names = {*ODD_NAMES, *odd, "turned.jpg"}
    for folder in (out / "images/clean", out / "images/contrast/3"):
        assert {p.relative_to(folder).as_posix() for p in folder.rglob("*.*")} == names
        for name in names:
            with Image.open(folder / name) as image, Image.open(root / name) as before:
                assert (image.format, image.mode, image.size) == (before.format, "RGB", before.size), name
                assert not image.getexif()
    # a PNG of a data set of JPEGs is lossless
    before, clean, corrupted = (
        np.asarray(Image.open(folder / "x.png")) for folder in (root, out / "images/clean", out / "images/contrast/3")
    )
    np.testing.assert_array_equal(clean, before)
    expected = corruptset.corrupt(before, "contrast", severity=3, calibration="imagenet", key="x.png")
    np.testing.assert_array_equal(corrupted, expected)
    report = verify(out, rederive=20, source=f"tree:{root}")
    assert report.ok, report.problems
    # it is held to its pixels: a source whose PNG is another one is refused
    example_image(33, 37, 9).save(root / "x.png")
    with pytest.raises(SourceError, match=r"x\.png: is sha256"):
        verify(out, rederive=20, source=f"tree:{root}")


def test_images_in_unsupported_formats_are_named(recipe, tmp_path):
    root = write_tree(tmp_path / "tree", ["a/x.jpg", "b/x.jpg"])
    (root / "a/IMG_1.HEIC").write_bytes(b"photo")
    notes = corruptset.plan(recipe, f"tree:{root}", sets=["clean"]).notes
    assert any(note.startswith("Images in formats that are not read (HEIC): 1, in a/ (1).") for note in notes)
    with pytest.raises(SourceError, match=r"a/IMG_1\.HEIC: is a HEIC file, which is not read: convert it"):
        corruptset.build(recipe, f"folder:{root}", tmp_path / "out", jobs=1)


def test_images_with_orientation_are_counted(recipe, tmp_path):
    """This applies to all sources of image files, in a plan, a build and an array job."""
    exif = Image.Exif()
    exif[0x0112] = 8
    root = write_tree(tmp_path / "tree", ["a/x.jpg", "b/y.jpg"])
    example_image(24, 24).save(root / "a/phone.jpg", exif=exif)
    example_image(24, 24).save(root / "b/scan.tif", tiffinfo={0x0112: 8})  # which Pillow turns
    files = [np.frombuffer(path.read_bytes(), np.uint8) for path in sorted(root.rglob("*.jpg"))]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("images", (3,), dtype=h5py.vlen_dtype(np.uint8))
        for row, data in enumerate(files):
            file["images"][row] = data
        file["labels"] = [0, 0, 1]
    expected = "1 of {} checked images have an EXIF orientation ({})."
    for source, count, name in (
        (f"tree:{root}", 3, "a/phone.jpg"),
        (f"folder:{root}", 4, "a/phone.jpg"),
        (f"hdf5:{tmp_path / 'x.h5'}", 3, "data/0"),
    ):
        images = "*.jpg" if source.startswith("tree:") else None
        options = {"sets": ["clean"], "images": images, "jobs": 1, "page": False}
        build_plan = corruptset.plan(recipe, source, **options)
        out = tmp_path / "out" / source.partition(":")[0]
        job = corruptset.build(recipe, source, out, part=(0, 1), **options)
        result = corruptset.build(recipe, source, out, finish=True, **options)
        for notes in (build_plan.notes, job.notes, result.notes):
            (note,) = [note for note in notes if note.startswith(expected.format(count, name))]
            assert ("boxes" in note, "stored sideways" in note) == ((True, False) if images else (False, True))


def test_png_files_alone_give_lossless_dataset(recipe, tmp_path):
    root = write_cityscapes(tmp_path / "cityscapes")
    out = build_tree(recipe, root, tmp_path, images="leftImg8bit/val/*", sets=["contrast/3"]).directory
    data = corruptset.open(out)
    assert (data.manifest.encoding, data.manifest.storage.container) == ({"format": "png"}, "folder")
    assert data["contrast/3"].verify() == data["contrast/3"].record.pixel_digest
    labels = small_builds.read_files(root / "gtFine")  # label images among them
    assert (len(labels), small_builds.read_files(out / "gtFine")) == (6, labels)
    assert (out / "images/contrast/3/leftImg8bit/val/lindau/lindau_000001_000019_leftImg8bit.png").is_file()
    assert verify(out, rederive=2, source=f"tree:{root}").ok


def test_source_files_with_reserved_names_are_not_copied(recipe, tmp_path):
    """The layout of YOLO has the folders images/ and labels/, a README.md, and a cache next to the images."""
    root = write_tree(tmp_path / "yolo", ["images/val/x.jpg", "images/train/y.jpg"])
    (root / "labels/val").mkdir(parents=True)
    for name in ("labels/val/x.txt", "images/val.cache", "ReadMe.md", "data.yaml", "split.mat"):
        (root / name).write_text(name)
    result = build_tree(recipe, root, tmp_path / "out", sets=["contrast/3"], images="images/val/*.jpg")
    files = small_builds.read_files(result.directory)
    assert {path for path in files if files[path] == path.encode()} == {"labels/val/x.txt", "data.yaml", "split.mat"}
    assert [path for path in files if path.startswith("images/")] == ["images/contrast/3/images/val/x.jpg"]
    assert any(note.startswith("ReadMe.md, images/train/y.jpg, images/val.cache: not copied") for note in result.notes)
    assert verify(result.directory).ok


def test_unsuitable_requests_are_rejected_before_writing(recipe, coco, tmp_path):
    hdf5 = "--storage hdf5 uses HDF5 shards, which do not keep names(.|\n)*--per-class"
    with pytest.raises(BuildError, match=hdf5):
        build_tree(recipe, coco, tmp_path / "out", images=IMAGES, storage="hdf5", per_class=1)
    root = shutil.copytree(coco, tmp_path / "coco")
    (root / "val2017/000000000002.jpg").write_bytes(b"no JPEG")
    (root / "annotations/Captions_val2017.json").write_text("{}")
    bad = r"annotations/captions_val2017.json: has the same name as .*/Captions_val2017.json(.|\n)*val2017/0+2\.jpg: "
    with pytest.raises(SourceError, match=bad):
        build_tree(recipe, root, tmp_path / "out", images=IMAGES)
    assert not (tmp_path / "out").exists()
    full_build = build_tree(recipe, root, tmp_path / "out", images=IMAGES, skip_bad=True, sets=["clean"])
    assert [s.path for s in corruptset.open(full_build.directory).samples] == [f"val2017/{n:012d}.jpg" for n in (1, 3)]
    assert len(full_build.manifest.excluded) == 3


@pytest.mark.ci
def test_pycocotools_opens_build_as_documented(dataset_dir, tmp_path, monkeypatch):
    (snippet,) = [s for s in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "COCOeval" in s]
    truth, events = json.loads((dataset_dir / "annotations/instances_val2017.json").read_text())["annotations"], []

    def detect(path, image_id):
        with Image.open(path) as image:
            events.append(image.size)
        result = [{**a, "score": 0.9} for a in truth if a["image_id"] == image_id]
        return result["contrast/3" in path :]

    (tmp_path / "detection-c-1.0.0").symlink_to(dataset_dir)
    monkeypatch.chdir(tmp_path)
    names = {"detect": detect}
    exec(snippet.replace("fog/{severity}", "contrast/{severity}").replace("range(1, 6)", "(1, 3)"), names)
    assert events == SIZES * 3
    assert (names["metrics"]["clean"]["AP"], names["metrics"]["contrast/3"]["AP"]) == (1.0, 0.5)
    scores = corruptset.score_table(tmp_path / "metrics.json")
    assert (scores.metrics["AP"].clean, "contrast/2" in scores.metrics["AP"].missing) == (1, True)
