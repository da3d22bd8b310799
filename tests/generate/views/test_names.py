"""Names in the views imagefolder and croissant, and in packed archives: none leads a loader astray, none is another build's."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives as a
import layouts
import numpy as np
import pytest

import corruptset
from corruptset.errors import Interrupted
from corruptset.generate.build import ProgressEvent, build
from corruptset.generate.views.export import export
from corruptset.generate.views.view_check import check_view
from corruptset.manifests.release.pack import pack
from corruptset.manifests.verify.ladder import verify_directory

COUNT = 14
NOISE = '[[sets]]\ncorruptions = ["gaussian_noise"]\nseverities = [3]\n'
KINDS: dict[str, dict[str, Any]] = {
    "": {}, " by set": {"by": "set"}, " split": {"max_bytes": 90_000}, " records": {"manifest_only": True},
}  # fmt: skip
"""Ways to pack."""
SETS = """
[[sets]]
clean = true

[[sets]]
corruptions = ["contrast"]
severities = [3]

[[sets]]
chain = ["contrast-3", "brightness-2"]
id = "two-factor-train"

[[sets]]
chain = ["brightness-2", "contrast-3"]
id = "__val/latest+dev"
"""


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk takes most of the time of these tests."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twelve classes whose folders (03) are not their names (3), in no order."""
    root = tmp_path_factory.mktemp("arrays")
    np.save(root / "x.npy", a.crops(COUNT)[0])
    np.save(root / "y.npy", np.arange(COUNT) * 5 % 12)
    return f"npy:{root / 'x.npy'},{root / 'y.npy'}"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_recipe(tmp_path_factory.mktemp("recipe"), encoding="jpeg", more=SETS)


@pytest.fixture(scope="module")
def built(source: str, recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(recipe, source, tmp_path_factory.mktemp("built"), jobs=1, metrics=0).directory


@pytest.fixture(scope="module")
def exported(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def make(view: str) -> Path:
        if view not in made:
            made[view] = export(view, built, tmp_path_factory.mktemp("view") / view).path
        return made[view]

    return make


def members(tar: Path) -> dict[str, bytes]:
    with tarfile.open(tar) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]


def rewrite(tar: Path, files: dict[str, bytes]) -> None:
    tar.unlink()
    a.tar(tar, files)


def test_imagefolder_has_no_name_of_the_source_and_no_word_of_a_split_in_a_path(built: Path, exported: Callable[[str], Path]) -> None:
    data, top = corruptset.open(built), exported("imagefolder") / "small-c-1.0.0"
    paths = sorted(p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file())
    folders = {
        "clean": "clean",
        "contrast/3": "contrast/3",
        "two-factor-train": "two-factor-=train",
        "__val/latest+dev": "=__=val/latest+=dev",
    }
    assert set(folders) == set(data.set_ids)
    assert paths == sorted(["metadata.jsonl", *(f"{f}/{i:05d}.JPEG" for f in folders.values() for i in range(COUNT))])
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    expected = [
        (f"{folders[s]}/{i:05d}.JPEG", sample.label, s, str(sample.label), sample.id)
        for s in data.set_ids
        for i, sample in enumerate(data.samples)
    ]
    assert [(r["file_name"], r["label"], r["set"], r["class"], r["id"]) for r in rows] == expected
    assert {len(str(r["label"])) for r in rows} == {1, 2}
    assert not any("split" in r for r in rows)


def test_imagefolder_says_the_split_that_a_sample_had(tmp_path: Path) -> None:
    images, labels = a.crops(6)
    digits = images[:, :28, :28].mean(-1).astype(np.uint8)
    for split, part in (("t10k", slice(0, 2)), ("train", slice(2, 6))):
        a.write(tmp_path / "raw", {f"{split}-images-idx3-ubyte": a.idx(digits[part]), f"{split}-labels-idx1-ubyte": a.idx(labels[part])})
    built = build("mnist-c", f"mnist:{tmp_path / 'raw'}", tmp_path, split="all", sets=["clean"], jobs=1, metrics=0, format="hdf5").directory
    top = export("imagefolder", built, tmp_path / "view").top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert [(r["file_name"], r["split"]) for r in rows] == [(f"clean/{i:05d}.png", "test" if i < 2 else "train") for i in range(6)]


def test_a_build_into_imagefolder_is_the_export_verifies_and_goes_on_where_it_stopped(
    source: str, recipe: Path, built: Path, exported: Callable[[str], Path], tmp_path: Path
) -> None:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 1:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"view": "imagefolder", "jobs": 1, "metrics": 0}
    with pytest.raises(Interrupted):
        build(recipe, source, tmp_path, progress=stop, sets=["clean", "two-factor-train"], **options)
    build(recipe, source, tmp_path, sets=["clean", "two-factor-train"], **options)
    directory = build(recipe, source, tmp_path, **options).directory
    assert layouts.files_of(directory / directory.name) == layouts.files_of(exported("imagefolder") / directory.name)
    assert corruptset.open(directory).digest == corruptset.open(built).digest
    assert verify_directory(directory).problems == []
    release = pack(directory, tmp_path / "packed", family=lambda name: name)
    table = json.loads((release.path / "croissant-samples.json").read_bytes())
    assert table["file"] == [f"{i:05d}.JPEG" for i in range(COUNT)]
    # an image under the number of another is no longer where its row says by its name
    rows = directory / "sets/clean.jsonl"
    one, two = (f"small-c-1.0.0/clean/{i:05d}.JPEG" for i in (3, 4))
    text = rows.read_text("utf-8").replace(one, "between").replace(two, one).replace("between", two)
    rows.write_text(text, "utf-8")
    found = {p.detail for p in verify_directory(directory, level="structure").problems}
    assert {f"row 3 is in {two}; expected is the number 3 as its name", f"row 4 is in {one}; expected is the number 4 as its name"} <= found


def test_croissant_reads_index_label_class_and_path_from_a_member_in_the_order_of_the_samples(
    built: Path, exported: Callable[[str], Path]
) -> None:
    data, top = corruptset.open(built), exported("croissant") / "small-c-1.0.0"
    record = json.loads((top / "croissant.json").read_text("utf-8"))
    tars = {o["@id"]: o["contentUrl"] for o in record["distribution"] if o["@type"] == "cr:FileObject"}
    for one in record["recordSet"]:
        regexes = {f["name"].rpartition("/")[2]: f["source"].get("transform", {}).get("regex") for f in one["field"]}
        assert list(regexes) == ["image", "index", "label", "class", "path"]
        files = members(top / tars[f"{one['@id']}.tar"])
        # mlcroissant sorts what it extracted by path, and matches from a path's beginning
        found = [{n: re.match(r, name)[1] for n, r in regexes.items() if r} for name in sorted(files)]  # type: ignore[index]
        assert found == [
            {
                "index": f"{s.index:02d}",
                "label": str(s.label),
                "class": data.classes[s.label].folder,
                "path": f"{data.classes[s.label].folder}/{s.id}.JPEG",
            }
            for s in data.samples
        ]
        for (_, content), row in zip(sorted(files.items()), data[one["@id"]].rows, strict=True):
            assert content == (built / row.files[0].path).read_bytes()


def test_no_archive_is_called_as_one_of_other_content(built: Path, tmp_path: Path) -> None:
    """mlcroissant looks up what it extracted by `contentUrl` alone."""
    crops, others = (layouts.write_crops(tmp_path / f"{side}", classes=4, each=1, side=side) for side in (32, 40))
    png, jpeg = (layouts.write_recipe(tmp_path, encoding=e, more=NOISE) for e in ("png", "jpeg"))
    worse = tmp_path / "worse.toml"
    worse.write_text(jpeg.read_text("utf-8").replace('format = "jpeg"', 'format = "jpeg"\nquality = 40'))
    builds = {
        "it": layouts.make(png, crops, tmp_path / "it"),
        "seed": layouts.make(png, crops, tmp_path / "seed", seed=1),
        "source": layouts.make(png, others, tmp_path / "source"),
        "jpeg": layouts.make(jpeg, crops, tmp_path / "jpeg"),
        "quality": layouts.make(worse, crops, tmp_path / "quality"),
    }
    made: dict[str, set[str]] = {}
    for name, directory in builds.items():
        export("croissant", directory, tmp_path / f"view-{name}")
        made[f"view {name}"] = urls(next((tmp_path / f"view-{name}").glob("*/croissant.json")))
        for kind, options in KINDS.items():
            out = tmp_path / f"pack-{name}{kind}"
            pack(directory, out, family=lambda name: name, **options)
            made[f"pack {name}{kind}"] = urls(out / "croissant.json")
    listed = [u for found in made.values() for u in found]
    assert len(listed) == len(set(listed)), made
    # the same again has the same names, wherever and whenever
    again = layouts.make(png, crops, tmp_path / "again")
    export("croissant", again, tmp_path / "view-again")
    assert urls(next((tmp_path / "view-again").glob("*/croissant.json"))) == made["view it"]
    pack(again, tmp_path / "pack-again", family=lambda name: name)
    assert urls(tmp_path / "pack-again/croissant.json") == made["pack it"]


def urls(croissant: Path) -> set[str]:
    record = json.loads(croissant.read_bytes())
    return {o["contentUrl"] for o in record["distribution"] if o["encodingFormat"] == "application/x-tar"}


def test_packed_samples_keep_ids_and_class_names_of_digits(tmp_path: Path) -> None:
    """A table that guesses types makes 3 of the name "03"."""
    crops = layouts.write_crops(tmp_path / "crops", classes=2, each=2)
    for c in range(2):
        (crops / f"{c:02d}_class").rename(crops / f"{c:02d}")
    built = layouts.make(layouts.write_recipe(tmp_path, more="[[sets]]\nclean = true\n"), crops, tmp_path / "out")
    pack(built, tmp_path / "packed", family=lambda name: name)
    record = json.loads((tmp_path / "packed/croissant.json").read_bytes())
    samples = next(r for r in record["recordSet"] if r["@id"] == "samples")
    table = json.loads((tmp_path / "packed/croissant-samples.json").read_bytes())
    assert {f["source"]["extract"]["jsonPath"] for f in samples["field"]} == {f"$.{name}[*]" for name in table}
    assert (table["class"], table["folder"]) == (["00", "00", "01", "01"],) * 2
    assert (table["id"], table["label"]) == ([s.id for s in corruptset.open(built).samples], [0, 0, 1, 1])
    assert record["citeAs"].endswith(corruptset.open(built).digest)


def test_a_label_or_name_that_was_changed_in_a_view_is_found(built: Path, exported: Callable[[str], Path], tmp_path: Path) -> None:
    """Folder against name, the number in a tar, and what stands beside an image or a tar."""

    def damaged(view: str, change: Callable[[Path], None], to: str) -> None:
        copy = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        shutil.copytree(exported(view), copy)
        change(copy)
        assert to in {p.kind for p in check_view(built, copy).problems}

    def names_for_folders(root: Path) -> None:
        path = root / "small-c-1.0.0/metadata.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows[0]["class"] = f"{rows[0]['label']:02d}"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def one_digit(root: Path) -> None:
        tar = next(root.glob("*/*/clean.tar"))
        files = members(tar)
        name = next(n for n in files if "label=11/" in n)
        rewrite(tar, {n.replace("label=11/", "label=1/") if n == name else n: data for n, data in files.items()})

    def beside_a_tar(root: Path) -> None:
        next(root.glob("*/*/clean.tar")).with_name("more.tar").write_bytes(b"")

    def beside_an_image(suffix: str, content: bytes) -> Callable[[Path], None]:
        def change(root: Path) -> None:
            tar = next(root.glob("*/clean/000000.tar"))
            rewrite(tar, {n: content if n == f"00000005.{suffix}" else data for n, data in members(tar).items()})

        return change

    damaged("imagefolder", names_for_folders, "records")
    damaged("croissant", one_digit, "decode")
    damaged("croissant", beside_a_tar, "unexpected")
    damaged("webdataset", beside_an_image("cls", b"7"), "decode")
    damaged("webdataset", beside_an_image("json", b"{}"), "decode")
