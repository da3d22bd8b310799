"""Test the layouts of archives: webdataset uses names and bytes alone, and croissant lists the hash of every tar."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
from small_builds import decode_image, export, tar_members

import corruptset
from corruptset.generate.exports import placement
from corruptset.manifests.release.pack import pack


def croissant_record(folder: Path) -> Any:
    return json.loads((folder / "croissant.json").read_bytes())


def test_webdataset_tars_are_deterministic_with_keys_without_dots(
    png: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "SHARD", 8)
    sets = ["clean", "contrast/3", "contrast-3+brightness-2"]
    result = export("webdataset", png, tmp_path / "a", sets=sets)
    monkeypatch.setattr("time.time", lambda: 12345.0)
    export("webdataset", png, tmp_path / "b", sets=sets)
    assert small_builds.read_files(tmp_path / "a") == small_builds.read_files(tmp_path / "b")
    text = json.loads((tmp_path / "a/VIEW.json").read_text("utf-8"))["sets"]
    assert {(s["id"], s["path"]) for s in text} == {
        (set_id, f"small-c-1.0.0/{set_id}/{k:06d}.tar") for set_id in sets for k in range(3)
    }
    data = corruptset.open(png)
    for set_id in sets:
        index = 0
        for tar in sorted((result.top / set_id).glob("*.tar")):
            with tarfile.open(tar) as archive:
                attributes = {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in archive.getmembers()}
            assert attributes == {(0, 0, 0, "", "", 0o644)}
            contents = tar_members(tar)
            assert {name.count(".") for name in contents} == {1}
            for key in dict.fromkeys(name.partition(".")[0] for name in contents):
                np.testing.assert_array_equal(decode_image(contents[f"{key}.png"]), data[set_id].image(index))
                sample, about = data.samples[index], json.loads(contents[f"{key}.json"])
                assert (int(contents[f"{key}.cls"]), about["id"]) == (sample.label, sample.id)
                index += 1
        assert index == 20


def test_croissant_names_every_tar_with_hash_and_reads_members_in_sample_order(
    named_dataset: Path, named_exports: Callable[[str], Path]
) -> None:
    data, top = corruptset.open(named_dataset), named_exports("croissant") / "small-c-1.0.0"
    record = croissant_record(top)
    assert record["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    objects = [o for o in record["distribution"] if o["@type"] == "cr:FileObject"]
    assert {o["contentUrl"]: o["sha256"] for o in objects} == {
        p.relative_to(top).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in top.rglob("*.tar")
    }
    assert [r["@id"] for r in record["recordSet"]] == data.set_ids
    tars = {o["@id"]: o["contentUrl"] for o in objects}
    folders = [data.classes[s.class_index].folder for s in data.samples]
    for item in record["recordSet"]:
        regexes = {f["name"].rpartition("/")[2]: f["source"].get("transform", {}).get("regex") for f in item["field"]}
        assert list(regexes) == ["image", "index", "label", "class", "path"]
        files = tar_members(top / tars[f"{item['@id']}.tar"])
        # mlcroissant sorts what it extracted by path, and matches from a path's beginning
        result = [{n: re.match(r, name)[1] for n, r in regexes.items() if r} for name in sorted(files)]  # type: ignore[index]
        assert result == [
            {"index": f"{s.index:02d}", "label": str(s.label), "class": folder, "path": f"{folder}/{s.id}.JPEG"}
            for s, folder in zip(data.samples, folders, strict=True)
        ]
        for (_, content), row in zip(sorted(files.items()), data[item["@id"]].rows, strict=True):
            assert content == (named_dataset / row.files[0].path).read_bytes()


def test_archives_with_different_content_have_different_names(tmp_path: Path) -> None:
    """mlcroissant finds extracted archives by `contentUrl` alone."""
    noise = '[[sets]]\ncorruptions = ["gaussian_noise"]\nseverities = [3]\n'
    crops, others = (small_builds.write_crops(tmp_path / f"{side}", classes=4, each=1, side=side) for side in (32, 40))
    png, jpeg = (small_builds.write_recipe(tmp_path, encoding=e, more=noise) for e in ("png", "jpeg"))
    builds: dict[str, tuple[Path, Path, dict[str, Any]]] = {
        "it": (png, crops, {}), "seed": (png, crops, {"seed": 1}), "source": (png, others, {}),
        "jpeg": (jpeg, crops, {}), "it again": (png, crops, {}),
    }  # fmt: skip
    packs: list[dict[str, Any]] = [{}, {"by": "set"}, {"manifest_only": True}]
    urls: dict[str, set[str]] = {}
    for name, (recipe, source, more) in builds.items():
        directory = small_builds.build_dataset(recipe, source, tmp_path / name, **more)
        folders = [export("croissant", directory, tmp_path / f"export-{name}").top]
        folders += [pack(directory, tmp_path / f"{name}-{o}", **o).path for o in packs]
        for number, folder in enumerate(folders):
            objects = [
                o for o in croissant_record(folder)["distribution"] if o["encodingFormat"] == "application/x-tar"
            ]
            urls[f"{name} {number}"] = {o["contentUrl"] for o in objects}
    # the same again has the same names, wherever and whenever
    repeated = {name.replace(" again", ""): urls.pop(name) for name in [*urls] if "again" in name}
    assert repeated.items() <= urls.items()
    all_urls = [url for result in urls.values() for url in result]
    assert len(all_urls) == len(set(all_urls)), urls


def test_packed_samples_keep_ids_and_numeric_class_names(tmp_path: Path) -> None:
    """A table that infers types would turn the name "03" into 3."""
    crops = small_builds.write_crops(tmp_path / "crops", classes=2, each=2)
    for c in range(2):
        (crops / f"{c:02d}_class").rename(crops / f"{c:02d}")
    directory = small_builds.build_dataset(
        small_builds.write_recipe(tmp_path, more="[[sets]]\nclean = true\n"), crops, tmp_path / "out"
    )
    packed = pack(directory, tmp_path / "packed").path
    samples = next(r for r in croissant_record(packed)["recordSet"] if r["@id"] == "samples")
    table = json.loads((packed / "croissant-samples.json").read_bytes())
    assert {f["source"]["extract"]["jsonPath"] for f in samples["field"]} == {f"$.{name}[*]" for name in table}
    assert (table["class"], table["folder"]) == (["00", "00", "01", "01"],) * 2
    assert (table["id"], table["label"]) == ([s.id for s in corruptset.open(directory).samples], [0, 0, 1, 1])
