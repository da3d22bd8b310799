"""``build --view``: the images once, in the loader's layout, as an export has them, through kills and extension."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from damage import flip
from layouts import PLAIN, export

import corruptset
from corruptset.errors import BuildError, Interrupted
from corruptset.generate.build import ProgressEvent, build
from corruptset.generate.reproduction.verify import verify
from corruptset.manifests.release.pack import pack
from corruptset.manifests.verify.ladder import verify_directory

NOISE = {"more": '[[sets]]\ncorruptions = ["gaussian_noise"]\nseverities = [1, 3]\n'}
ANY = ["clean", "contrast/2", "contrast-3+*"]


@pytest.fixture(scope="module")
def crops(shared: layouts.Shared) -> Path:
    return shared.crops(each=4)


@pytest.mark.parametrize(
    ("view", "sets", "recipe"),
    [
        ("cifar-c", PLAIN, {}),
        ("imagenet-c", PLAIN, {}),
        ("openood", ANY, {}),
        ("flageval", ["gaussian_noise/*"], NOISE),
    ],
)
def test_a_view_that_is_built_is_the_view_that_is_exported(
    shared: layouts.Shared, crops: Path, tmp_path: Path, view: str, sets: list[str], recipe: dict[str, Any]
) -> None:
    plain = shared.build(crops={"each": 4}, recipe=recipe)
    built = layouts.make(shared.recipe(**recipe), crops, tmp_path / "out", view=view, sets=sets)
    done = export(view, plain, tmp_path / "exported", sets=sets)
    top = built / done.top.name
    assert layouts.files_of(top) == layouts.files_of(done.top)
    assert not [name for name in ("images", "hdf5") if (built / name).exists()]
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
    image = min(p for p in top.rglob("*") if p.suffix in (".npy", ".png") and p.name != "labels.npy")
    flip(image, 0.9)
    problems = verify_directory(built).problems
    assert {p.path.partition("#")[0] for p in problems} == {image.relative_to(built).as_posix()}


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c"])
def test_stopped_and_resumed_builds_have_the_bytes_of_one(
    shared: layouts.Shared, crops: Path, recipe: Path, tmp_path: Path, view: str
) -> None:
    whole = shared.build(crops={"each": 4}, view=view, sets=PLAIN)

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        layouts.make(recipe, crops, tmp_path / "out", view=view, sets=["contrast/*"], progress=stop)
    directory = tmp_path / "out" / f"{whole.name}.partial"
    committed = {p.name.partition("-")[0] for p in (directory / ".corruptset/parts").iterdir()}
    assert 0 < len(committed) < 5
    for path in directory.rglob("*.npy"):  # rows that no sidecar speaks for hold anything, as after a power cut
        content = bytearray(path.read_bytes())
        content[-3072:] = bytes(range(256)) * 12
        path.write_bytes(bytes(content))
    finished = layouts.make(recipe, crops, tmp_path / "out", view=view, sets=PLAIN)
    assert layouts.files_of(finished) == layouts.files_of(whole)


@pytest.mark.ci
def test_workers_write_the_rows_of_one_array(shared: layouts.Shared, crops: Path, recipe: Path, tmp_path: Path) -> None:
    whole = shared.build(crops={"each": 4}, view="cifar-c", sets=PLAIN)
    made = layouts.make(recipe, crops, tmp_path / "out", view="cifar-c", sets=PLAIN, jobs=2)
    assert layouts.files_of(made) == layouts.files_of(whole)


def test_an_image_of_imagefolder_under_the_number_of_another_is_found(
    named_source: str, named_recipe: Path, named: Path, named_views: Callable[[str], Path], tmp_path: Path
) -> None:
    directory = build(named_recipe, named_source, tmp_path, view="imagefolder", jobs=1, metrics=0).directory
    assert layouts.files_of(directory / directory.name) == layouts.files_of(named_views("imagefolder") / directory.name)
    assert corruptset.open(directory).digest == corruptset.open(named).digest
    assert verify_directory(directory).problems == []
    release = pack(directory, tmp_path / "packed", family_of=lambda name: name)
    table = json.loads((release.path / "croissant-samples.json").read_bytes())
    assert table["file"] == [f"{i:05d}.JPEG" for i in range(14)]
    rows = directory / "sets/clean.jsonl"
    one, two = (f"small-c-1.0.0/clean/{i:05d}.JPEG" for i in (3, 4))
    rows.write_text(rows.read_text("utf-8").replace(one, "between").replace(two, one).replace("between", two), "utf-8")
    found = {p.detail for p in verify_directory(directory, level="structure").problems}
    assert found >= {
        f"row {row} is in {place}; expected is the number {row} as its name" for row, place in ((3, two), (4, one))
    }


def test_what_cannot_be_built_into_a_view_is_refused_before_anything_is_written(
    shared: layouts.Shared, crops: Path, recipe: Path, tmp_path: Path
) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {"view": "webdataset"}, "cannot write straight into the view webdataset"),
        ({}, {"view": "cifar-d"}, "'cifar-d' is not a view"),
        ({}, {"view": "cifar-c", "storage": "hdf5"}, "storage is 'hdf5' and view 'cifar-c'"),
        ({"encoding": "jpeg"}, {"view": "cifar-c"}, "stores JPEG, with loss"),
        ({}, {"view": "cifar-c", "sets": ["contrast/[123]"]}, "contrast: has severities 1, 2, 3, not 4, 5"),
        ({}, {"view": "imagenet-c", "first": 8}, "8 of 10 classes have none"),
        ({"channels": "keep"}, {"view": "cifar-c", "any_shape": False}, "8 of 8 images are grey"),
    ]
    for settings, options, match in cases:
        source = shared.crops(mode="L") if settings.get("channels") else crops
        with pytest.raises(BuildError, match=match):
            layouts.make(shared.recipe(**settings), source, tmp_path / "out", **{"sets": PLAIN} | options)
        assert not any((tmp_path / "out").rglob("*.n*"))
    # grey images become colours before the view sees them
    assert corruptset.plan(recipe, f"folder:{shared.crops(mode='L')}", view="cifar-c", sets=PLAIN).samples
    layouts.make(recipe, crops, tmp_path / "folder", sets=PLAIN)
    with pytest.raises(BuildError, match="views"):
        layouts.make(recipe, crops, tmp_path / "folder", sets=PLAIN, view="imagenet-c")
