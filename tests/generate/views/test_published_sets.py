"""The shipped recipes of two factors, of thirty levels and of CIFAR-10-C in every view."""

from __future__ import annotations

import json
from pathlib import Path

import archives as a
import layouts
import numpy as np
import pytest
from layouts import TAKE_ALL, export

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.again.rederive import verify
from corruptset.generate.build import build
from corruptset.generate.views.export import export as strict_export
from corruptset.generate.views.view_check import check_view

FIVE = ["cifar-c", "imagenet-c", "tiny-imagenet-c"]
CIFAR = [
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow",
    "frost", "fog",
    "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression", "speckle_noise", "gaussian_blur",
    "spatter", "saturate",
]  # fmt: skip
THREE_LADDERS = ["black_lines/*", "fade_black/*", "posterize/*"]


@pytest.fixture(scope="module")
def two_factor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All 53 conditions of the two-factor paper, of twenty crops in the form of CIFAR-10's test batch."""
    root = tmp_path_factory.mktemp("two-factor")
    images, _ = a.crops(20)
    archive = a.tar(root / "cifar-10-python.tar.gz", a.ten_python((images, np.arange(20) % 10)), "w:gz")
    return build("two-factor-69", f"cifar10:{archive}", root, metrics=0, jobs=1).directory


@pytest.fixture(scope="module")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three ladders of thirty levels, and clean, of one photograph."""
    root = tmp_path_factory.mktemp("ladders")
    return build(
        "image-degrade-30", "sample", root, first=1, metrics=0, jobs=1, sets=["clean", *THREE_LADDERS], format="hdf5"
    ).directory


@pytest.mark.parametrize("view", TAKE_ALL)
def test_two_factor_69_goes_whole_into_the_views_of_any_set(two_factor: Path, tmp_path: Path, view: str) -> None:
    done = strict_export(view, two_factor, tmp_path / "view")
    data = corruptset.open(two_factor)
    assert len(data.set_ids) == 53
    assert done.images == 53 * 20
    report = check_view(two_factor, tmp_path / "view")
    assert report.ok, report.problems
    assert report.checked["images"] == done.images
    # the paper's names choose as the ids do, and the repeated ones lead to one set
    some = strict_export(
        view, two_factor, tmp_path / "some", sets=["SP0.1GA0.2", "type 8", "type 5", "type 42", "RL30SP0.1"]
    )
    record = json.loads((tmp_path / "some/VIEW.json").read_text("utf-8"))
    assert [s["id"] for s in record["sets"]] == ["ro-30+sp010", "sp010", "sp010+ga020"]
    assert some.images == 3 * 20


@pytest.mark.parametrize("view", TAKE_ALL)
def test_thirty_levels_go_whole_into_the_views_of_any_set(ladders: Path, tmp_path: Path, view: str) -> None:
    done = strict_export(view, ladders, tmp_path / "view")
    assert done.images == 3 * 30 + 1
    report = check_view(ladders, tmp_path / "view")
    assert report.ok, report.problems
    if view == "imagefolder":
        rows = [json.loads(line) for line in (done.top / "metadata.jsonl").read_text("utf-8").splitlines()]
        ladder = [
            (row["corruption"], row["severity"], row["level"]) for row in rows if row["set"].startswith("black_lines")
        ]
        assert ladder == [("black_lines", 0, level) for level in range(1, 31)]


@pytest.mark.parametrize("view", FIVE)
def test_two_factor_69_is_mapped_or_refused_by_the_views_of_five_severities(
    two_factor: Path, tmp_path: Path, view: str
) -> None:
    with pytest.raises(BuildError) as e:
        export(view, two_factor, tmp_path / "view")
    first, *lines, rest, then = str(e.value).splitlines()
    assert view in first
    why = dict(line.strip().split(": ") for line in lines)
    assert set(why) < set(corruptset.open(two_factor).set_ids)
    for name, reason in why.items():
        expected = (
            "2 corruptions in a row have no severity" if "+" in name else "is not at a severity of a table, 1 to 5"
        )
        assert reason == expected
    # 53 sets less clean, and that nothing is left; the list ends after fifty and counts the others
    assert (len(why), rest) == (50, "  ... and 3 more")
    assert "--severities FILE" in then
    assert list(tmp_path.iterdir()) == []
    names = {"salt_pepper+gaussian": ["CLEAN", "SP0.1GA0.1", "SP0.15GA0.15", "type 16", "sp020+ga020"]}
    done = export(view, two_factor, tmp_path / "view", severities=names)
    assert {p.name.removesuffix(".npy") for p in done.top.iterdir()} - {"labels"} == set(names)
    assert any(
        "Left out" in note and "ga010, ga010+sp010" in note and note.endswith(" and 41 more.") for note in done.notes
    )
    data = corruptset.open(two_factor)
    report = check_view(two_factor, tmp_path / "view")
    assert report.ok, report.problems
    if view == "cifar-c":
        expected = [data[i].array() for i in ("clean", "sp010+ga010", "sp015+ga015", "sp020+ga020", "sp020+ga020")]
        np.testing.assert_array_equal(np.load(done.top / "salt_pepper+gaussian.npy"), np.concatenate(expected))


@pytest.mark.parametrize("view", FIVE)
def test_thirty_levels_are_mapped_or_refused_by_the_views_of_five_severities(
    ladders: Path, tmp_path: Path, view: str
) -> None:
    missing = {} if view == "cifar-c" else {"allow_missing_classes": True}
    # five levels are not five severities, were they the levels 1 to 5
    for sets in (["black_lines/*"], [f"black_lines/0{n}" for n in range(1, 6)]):
        with pytest.raises(
            BuildError, match=r"black_lines/01 \.\.\. black_lines/(30 \(30|05 \(5) sets\): levels are not severities"
        ):
            export(view, ladders, tmp_path / "view", sets=sets, **missing)
    assert list(tmp_path.iterdir()) == []
    names = {"black_lines": [f"black_lines/{n:02d}" for n in (6, 12, 18, 24, 30)]}
    done = export(view, ladders, tmp_path / "view", severities=names, sets=["black_lines/*"], **missing)
    report = check_view(ladders, tmp_path / "view")
    assert report.ok, report.problems
    assert done.images == 5
    if view == "cifar-c":
        data = corruptset.open(ladders)
        expected = np.concatenate([data[i].array() for i in names["black_lines"]])
        np.testing.assert_array_equal(np.load(done.top / "black_lines.npy"), expected)


@pytest.mark.ci
def test_all_of_cifar10_c_from_its_tar_to_its_arrays(tmp_path: Path) -> None:
    images, labels = a.crops(24)
    archive = a.tar(tmp_path / "cifar-10-python.tar.gz", a.ten_python((images, labels)), "w:gz")
    built = build("cifar10-c", f"cifar10:{archive}", tmp_path / "out", metrics=0, jobs=1, format="hdf5").directory
    done = strict_export("cifar-c", built, tmp_path / "data")
    straight = build(
        "cifar10-c", f"cifar10:{archive}", tmp_path / "straight", metrics=0, jobs=1, view="cifar-c"
    ).directory
    assert layouts.files_of(straight / "CIFAR-10-C") == layouts.files_of(done.top)
    assert {p.name for p in done.top.iterdir()} == {f"{name}.npy" for name in [*CIFAR, "labels"]}
    np.testing.assert_array_equal(np.load(done.top / "labels.npy"), np.tile(labels, 5).astype(np.uint8))
    for name in CIFAR:
        rows = np.load(done.top / f"{name}.npy")
        assert (rows.shape, rows.dtype) == ((120, 32, 32, 3), np.uint8)
        for severity in range(1, 6):
            expected = corruptset.corrupt(
                images, name, severity=severity, calibration="cifar", key=[f"test/{i:05d}" for i in range(24)]
            )  # fmt: skip
            np.testing.assert_array_equal(
                rows[(severity - 1) * 24 : severity * 24], expected, err_msg=f"{name}/{severity}"
            )
    for directory in (tmp_path / "data", built, straight):
        report = check_view(built, directory) if directory == tmp_path / "data" else verify(directory)
        assert report.ok, report.problems
    record = json.loads((tmp_path / "data/VIEW.json").read_text("utf-8"))
    assert len(record["sets"]) == 95
    assert record["digest"] == corruptset.open(built).digest
    # the view has no place for clean, so a build straight into it is one without
    assert set(corruptset.open(built).set_ids) - set(corruptset.open(straight).set_ids) == {"clean"}
