"""``build --view``: the images once, in the loader's layout, as an export has them, through kills and extension."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from layouts import export

import corruptset
from corruptset.errors import BuildError, Interrupted
from corruptset.generate.build import ProgressEvent, build
from corruptset.generate.reproduction.verify import verify
from corruptset.manifests.release.pack import pack
from corruptset.manifests.verify.ladder import verify_directory

SETS = ["contrast/*", "brightness/*"]
ANY = ["clean", "contrast/2", "contrast-3+*"]


@pytest.fixture(scope="session")
def crops(shared: layouts.Shared) -> Path:
    return shared.crops(each=4)


@pytest.mark.parametrize(
    ("view", "sets"), [("cifar-c", SETS), ("imagenet-c", SETS), ("openood", ANY), ("flageval", ["gaussian_noise/*"])]
)
def test_a_view_that_is_built_is_the_view_that_is_exported(
    shared: layouts.Shared, crops: Path, tmp_path: Path, view: str, sets: list[str]
) -> None:
    noise = '[[sets]]\ncorruptions = ["gaussian_noise"]\nseverities = [1, 3]\n'
    recipe: dict[str, Any] = {"more": noise} if view == "flageval" else {}
    plain = shared.build(crops={"each": 4}, recipe=recipe)
    built = layouts.make(shared.recipe(**recipe), crops, tmp_path / "out", view=view, sets=sets)
    done = export(view, plain, tmp_path / "exported", sets=sets)
    assert layouts.files_of(built / done.top.name) == layouts.files_of(done.top)
    assert not (built / "images").exists()
    assert not (built / "hdf5").exists()
    data, reference = corruptset.open(built), corruptset.open(plain)
    assert data.manifest.encoding["containers"] == ["view"]
    for name in data.set_ids:
        np.testing.assert_array_equal(data[name].array(), reference[name].array())
        assert data.manifest.views[0]["sets"][name]
    report = verify(built, rederive=3, source=f"folder:{crops}", jobs=1)
    assert report.ok, report.problems
    # a view can be made of it as of any other build
    export("imagefolder", built, tmp_path / "again")
    # damage is found and named
    files = sorted((built / done.top.name).rglob("*"))
    image = next(p for p in files if p.suffix in (".npy", ".png") and p.name != "labels.npy")
    content = bytearray(image.read_bytes())
    content[-40] ^= 1
    image.write_bytes(bytes(content))
    problems = verify_directory(built).problems
    assert {p.path.partition("#")[0] for p in problems} == {image.relative_to(built).as_posix()}


@pytest.mark.parametrize(
    ("view", "jobs"), [("cifar-c", 1), ("imagenet-c", 1), pytest.param("cifar-c", 2, marks=pytest.mark.ci)]
)
def test_stopped_resumed_and_extended_builds_have_the_bytes_of_one(
    crops: Path, recipe: Path, tmp_path: Path, view: str, jobs: int
) -> None:
    whole = layouts.make(recipe, crops, tmp_path / "whole", view=view, sets=SETS)

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        layouts.make(recipe, crops, tmp_path / "out", view=view, sets=["contrast/*"], progress=stop, jobs=jobs)
    directory = tmp_path / "out" / whole.name
    if view == "cifar-c":
        # rows that no sidecar speaks for hold anything, as after a power cut
        arrays = list(directory.rglob("*.npy"))
        committed = {p.name.partition("-")[0] for p in (directory / ".corruptset/parts").iterdir()}
        assert arrays
        assert committed != {f"{n:05d}" for n in range(8)}
        for path in arrays:
            content = bytearray(path.read_bytes())
            content[-3072:] = bytes(range(256)) * 12
            path.write_bytes(bytes(content))
    for sets in (["contrast/*"], SETS):
        layouts.make(recipe, crops, tmp_path / "out", view=view, sets=sets, jobs=jobs)
    assert layouts.files_of(directory) == layouts.files_of(whole)


def test_an_image_of_imagefolder_under_the_number_of_another_is_found(
    named_source: str, named_recipe: Path, named: Path, named_views: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"view": "imagefolder", "jobs": 1, "metrics": 0}
    directory = build(named_recipe, named_source, tmp_path, **options).directory
    assert layouts.files_of(directory / directory.name) == layouts.files_of(named_views("imagefolder") / directory.name)
    assert corruptset.open(directory).digest == corruptset.open(named).digest
    assert verify_directory(directory).problems == []
    release = pack(directory, tmp_path / "packed", family_of=lambda name: name)
    table = json.loads((release.path / "croissant-samples.json").read_bytes())
    assert table["file"] == [f"{i:05d}.JPEG" for i in range(14)]
    rows = directory / "sets/clean.jsonl"
    one, two = (f"small-c-1.0.0/clean/{i:05d}.JPEG" for i in (3, 4))
    text = rows.read_text("utf-8").replace(one, "between").replace(two, one).replace("between", two)
    rows.write_text(text, "utf-8")
    found = {p.detail for p in verify_directory(directory, level="structure").problems}
    assert {
        f"row 3 is in {two}; expected is the number 3 as its name",
        f"row 4 is in {one}; expected is the number 4 as its name",
    } <= found


def test_what_cannot_be_built_into_a_view_is_refused_before_anything_is_written(
    crops: Path, recipe: Path, tmp_path: Path
) -> None:
    jpeg = layouts.write_recipe(tmp_path, encoding="jpeg")
    grey = layouts.write_crops(tmp_path / "grey", mode="L")
    keep = layouts.write_recipe(tmp_path, name="keep", channels="keep")
    few = {"view": "cifar-c", "sets": ["contrast/[123]", "clean"]}
    cases: list[tuple[Path, Path, dict[str, Any], str]] = [
        (recipe, crops, {"view": "webdataset"}, "cannot write straight into the view webdataset"),
        (recipe, crops, {"view": "cifar-d"}, "'cifar-d' is not a view"),
        (recipe, crops, {"view": "cifar-c", "format": "hdf5"}, "format is 'hdf5' and view 'cifar-c'"),
        (jpeg, crops, {"view": "cifar-c", "sets": SETS}, "stores JPEG, with loss"),
        (recipe, crops, few, "contrast: has severities 1, 2, 3, not 4, 5"),
        (recipe, crops, {"view": "imagenet-c", "sets": SETS, "first": 8}, "8 of 10 classes have none"),
        (keep, grey, {"view": "cifar-c", "sets": SETS, "any_shape": False}, "8 of 8 images are grey"),
    ]
    for path, source, options, match in cases:
        with pytest.raises(BuildError, match=match):
            layouts.make(path, source, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists() or not any((tmp_path / "out").rglob("*.n*"))
    layouts.make(recipe, crops, tmp_path / "folder", sets=SETS)
    with pytest.raises(BuildError, match="views"):
        layouts.make(recipe, crops, tmp_path / "folder", sets=SETS, view="imagenet-c")
