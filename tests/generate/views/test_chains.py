"""Sets that are not one corruption at severities 1 to 5, in every view: in their own place, mapped explicitly, or refused; never padded."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from layouts import export

import corruptset
from corruptset.corruptions.stages import Stage
from corruptset.errors import BuildError
from corruptset.generate.views.registry import VIEWS
from corruptset.generate.views.subject import SetRef
from corruptset.generate.views.view_check import check_view
from corruptset.manifests.verify.views import verify_view

SETS = """
[[sets]]
clean = true
aliases = ["CLEAN"]

[[sets]]
chain = ["sp010"]
aliases = ["SP0.1GA0"]

[[sets]]
chain = ["ro-30"]

[[sets]]
chain = ["sp010", "ro-30"]
aliases = ["SP0.1RL30", "type 43"]

[[sets]]
chain = ["ro-30", "sp010"]

[[pairs]]
first = ["contrast"]
second = ["brightness"]
severities = [1, 2, 3, 4, 5]
orders = "both"

[[sets]]
corruptions = ["black_lines"]
levels = 7

[[sets]]
chain = ["contrast-2"]
id = "dull"

[[sets]]
corruptions = ["contrast"]

[stages]
sp010 = {corruption = "salt_pepper", parameters = {density = 0.1}}
ro-30 = {corruption = "rotate", parameters = {angle_deg = 30, direction = "counterclockwise", canvas = "loose"}}
"""
CHOSEN = ["clean", "sp010*", "ro-30*", "contrast-3+brightness-5", "brightness-5+contrast-3", "black_lines/*", "contrast/*"]
TAKE_ALL = ["webdataset", "imagefolder", "openood", "croissant"]
FIVE = ["cifar-c", "imagenet-c", "imagenet-c-5k", "tiny-imagenet-c"]
DIAGONAL = [f"contrast-{s}+brightness-{s}" for s in range(1, 6)]
COUNT = 6


@pytest.fixture(scope="session")
def crops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_crops(tmp_path_factory.mktemp("crops"), classes=3)


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_recipe(tmp_path_factory.mktemp("recipe"), name="chains", more=SETS)


@pytest.fixture(scope="session")
def chains(recipe: Path, crops: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.make(recipe, crops, tmp_path_factory.mktemp("chains"))


@pytest.fixture(scope="session")
def grey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("grey")
    digits = layouts.write_crops(root / "crops", classes=3, side=28, mode="L")
    return layouts.make(layouts.write_recipe(root, name="chains", channels="keep", more=SETS), digits, root / "out")


def options(view: str) -> dict[str, Any]:
    return {"images": [f"{c:02d}_class/im.0" for c in range(3)]} if view == "imagenet-c-5k" else {}


def test_every_view_is_here() -> None:
    assert {*TAKE_ALL, *FIVE, "mnist-c"} == set(VIEWS)


@pytest.mark.parametrize("view", TAKE_ALL)
def test_views_of_any_set_keep_every_id_and_its_pixels(chains: Path, tmp_path: Path, view: str) -> None:
    done = export(view, chains, tmp_path / "view", sets=CHOSEN)
    # contrast/2 is another name of the set dull
    wanted = {
        "clean", "sp010", "sp010+ro-30", "ro-30", "ro-30+sp010", "contrast-3+brightness-5", "brightness-5+contrast-3",
        *(f"black_lines/{level:02d}" for level in range(1, 8)), "contrast/1", "dull", "contrast/3", "contrast/4", "contrast/5",
    }  # fmt: skip
    record = json.loads((tmp_path / "view/VIEW.json").read_text("utf-8"))
    assert {s["id"]: s["count"] for s in record["sets"]} == dict.fromkeys(wanted, COUNT)
    for one in record["sets"]:
        assert one["path"].endswith((one["id"], f"{one['id']}.tar", f"{one['id']}/000000.tar")), one
    # each image is the build's of that set, in that set's place
    report = check_view(chains, tmp_path / "view")
    assert report.ok, report.problems
    assert report.checked["images"] == done.images == len(record["sets"]) * COUNT
    # two orders of one pair are two places: exchanged, every image of both is found out
    first, second = (tmp_path / "view" / next(s["path"] for s in record["sets"] if s["id"] == i) for i in ("sp010+ro-30", "ro-30+sp010"))
    between = tmp_path / "between"
    shutil.move(first, between)
    shutil.move(second, first)
    shutil.move(between, second)
    wrong = {p.path for p in check_view(chains, tmp_path / "view").problems if p.kind in ("pixels", "decode")}
    assert len(wrong) == 2 * COUNT


def test_metadata_tells_severities_levels_and_the_rest_apart(chains: Path, tmp_path: Path) -> None:
    top = export("imagefolder", chains, tmp_path / "h", sets=CHOSEN).top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    found = {row["set"]: (row["corruption"], row["severity"], row["level"]) for row in rows}
    assert found["contrast/3"] == ("contrast", 3, 0)
    assert found["dull"] == ("contrast", 2, 0)
    assert found["black_lines/07"] == ("black_lines", 0, 7)
    for name in ("clean", "sp010", "sp010+ro-30", "contrast-3+brightness-5"):
        assert found[name] == (name, 0, 0)
    top = export("webdataset", chains, tmp_path / "w", sets=CHOSEN).top
    for name, expected in found.items():
        with tarfile.open(top / name / "000000.tar") as archive:
            about = json.load(archive.extractfile("00000003.json"))  # type: ignore[arg-type]
        assert (about["corruption"], about["severity"], about["level"]) == expected
    # where no set has a level there is no such column
    top = export("imagefolder", chains, tmp_path / "plain", sets=["sp010*", "contrast/*"]).top
    assert {"level" in json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()} == {False}


@pytest.mark.parametrize("view", FIVE)
def test_views_of_five_severities_refuse_the_others_by_name(chains: Path, tmp_path: Path, view: str) -> None:
    with pytest.raises(BuildError) as e:
        export(view, chains, tmp_path / "view", sets=CHOSEN, **options(view))
    assert str(e.value).splitlines()[1:-1] == [
        "  black_lines/01 ... black_lines/07 (7 sets): levels are not severities",
        "  brightness-5+contrast-3: 2 corruptions in a row have no severity",
        "  clean: the clean images have no severity",
        "  contrast-3+brightness-5: 2 corruptions in a row have no severity",
        "  ro-30: is not at a severity of a table, 1 to 5",
        "  ro-30+sp010: 2 corruptions in a row have no severity",
        "  sp010: is not at a severity of a table, 1 to 5",
        "  sp010+ro-30: 2 corruptions in a row have no severity",
    ]
    assert "--severities FILE" in str(e.value)
    for some in (["black_lines/01", "black_lines/02", "black_lines/03", "black_lines/04", "black_lines/05"], DIAGONAL, ["sp010"]):
        with pytest.raises(BuildError, match="there is no corruption with severities 1 to 5 in it"):
            export(view, chains, tmp_path / "view", sets=some, **options(view))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("view", FIVE)
def test_views_of_five_severities_take_chains_and_levels_where_they_are_told(chains: Path, tmp_path: Path, view: str) -> None:
    names = {
        "contrast+brightness": DIAGONAL,
        "black_lines": ["black_lines/01", "black_lines/02", "black_lines/04", "black_lines/06", "black_lines/07"],
        "rotations": ["CLEAN", "SP0.1GA0", "type 43", "ro-30", "ro-30+sp010"],
    }
    file = tmp_path / "map.toml"
    file.write_text("[severities]\n" + "".join(f"{json.dumps(name)} = {json.dumps(sets)}\n" for name, sets in names.items()))
    done = export(view, chains, tmp_path / "view", severities=file, **options(view))
    # what fits by itself is there as well: contrast/2 as dull, which is another name of it
    assert {p.name.removesuffix(".npy") for p in done.top.iterdir()} - {"labels"} == {*names, "contrast"}
    (note,) = (n for n in done.notes if "Left out" in n)
    assert "black_lines/03" in note
    for report in (verify_view(tmp_path / "view"), check_view(chains, tmp_path / "view")):
        assert report.ok, report.problems
    record = json.loads((tmp_path / "view/VIEW.json").read_text("utf-8"))
    assert {s["id"] for s in record["sets"]} == {
        "clean", "sp010", "sp010+ro-30", "ro-30", "ro-30+sp010", *names["black_lines"], *DIAGONAL, "dull",
        *(f"contrast/{s}" for s in (1, 3, 4, 5)),
    }  # fmt: skip
    if view == "cifar-c":
        data = corruptset.open(chains)
        np.testing.assert_array_equal(
            np.load(done.top / "rotations.npy"),
            np.concatenate([data[i].array() for i in ("clean", "sp010", "sp010+ro-30", "ro-30", "ro-30+sp010")]),
        )
        np.testing.assert_array_equal(np.load(done.top / "contrast.npy")[COUNT : 2 * COUNT], data["dull"].array())
    short = {**names, "black_lines": names["black_lines"][:4]}
    with pytest.raises(BuildError, match="black_lines lists 4 sets; expected 5"):
        export(view, chains, tmp_path / "short", severities=short, **options(view))


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c"])
def test_names_that_differ_in_capitals_alone_are_refused(chains: Path, tmp_path: Path, view: str) -> None:
    """On some file systems the second would be written over the first."""
    for names in ({"Contrast": DIAGONAL}, {"dim": DIAGONAL, "DIM": DIAGONAL}):
        with pytest.raises(BuildError, match="are one name where capitals do not count"):
            export(view, chains, tmp_path / "view", severities=names, **options(view))
    done = export(view, chains, tmp_path / "view", severities={"contrast": DIAGONAL}, **options(view))
    assert {p.name.removesuffix(".npy") for p in done.top.iterdir()} - {"labels"} == {"contrast"}
    if view == "cifar-c":
        for name in ("labels", "Labels"):
            with pytest.raises(BuildError, match=f"{name}: labels.npy holds the labels\nChoose another name"):
                export(view, chains, tmp_path / "other", severities={name: DIAGONAL})
    assert [p.name for p in tmp_path.iterdir()] == ["view"]


def test_mnist_c_takes_one_corruption_at_a_severity_by_itself_and_the_rest_as_told(grey: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError) as e:
        export("mnist-c", grey, tmp_path / "view", sets=["clean", "contrast/3", "sp010*", "black_lines/07", "contrast-3+brightness-5"])
    assert str(e.value).splitlines()[1:-1] == [
        "  black_lines/07: levels are not severities",
        "  contrast-3+brightness-5: 2 corruptions in a row have no severity",
        "  sp010: is not at a severity of a table, 1 to 5",
        "  sp010+ro-30: 2 corruptions in a row have no severity",
    ]
    assert list(tmp_path.iterdir()) == []
    names = {"sp010+ro-30": ["type 43"], "contrast": ["contrast/4"], "lines": ["black_lines/07"]}
    done = export("mnist-c", grey, tmp_path / "view", severities=names)
    assert {p.name for p in done.top.iterdir()} == {"identity", *names}
    data = corruptset.open(grey)
    for name, set_id in {"identity": "clean", "sp010+ro-30": "sp010+ro-30", "contrast": "contrast/4", "lines": "black_lines/07"}.items():
        np.testing.assert_array_equal(np.load(done.top / name / "test_images.npy"), data[set_id].array())
    left_out, one_split = done.notes
    assert "Left out" in left_out
    assert "--split all" in one_split
    report = check_view(grey, tmp_path / "view")
    assert report.ok, report.problems
    with pytest.raises(BuildError, match="Identity and identity are one name where capitals do not count"):
        export("mnist-c", grey, tmp_path / "other", sets=["clean", "contrast/3"], severities={"Identity": ["contrast/3"]})


@pytest.mark.parametrize("view", [v for v, entry in VIEWS.items() if entry.buildable])
def test_what_is_built_straight_into_a_view_keeps_every_id_or_is_refused(
    recipe: Path, chains: Path, crops: Path, tmp_path: Path, view: str
) -> None:
    if view not in TAKE_ALL:
        with pytest.raises(BuildError, match=r"sp010\+ro-30: 2 corruptions in a row(.|\n)*build without --view: `corruptset export`") as e:
            layouts.make(recipe, crops, tmp_path / "out", view=view, sets=CHOSEN)
        assert "--severities" not in str(e.value)
        assert not any((tmp_path / "out").rglob("*.npy"))
        return
    built = layouts.make(recipe, crops, tmp_path / "out", view=view, sets=CHOSEN)
    data, reference = corruptset.open(built), corruptset.open(chains)
    for set_id in data.set_ids:
        np.testing.assert_array_equal(data[set_id].array(), reference[set_id].array())
        assert data.manifest.views[0]["sets"][set_id][0].endswith(set_id)


def test_a_number_is_a_severity_or_a_level_as_the_stage_says_and_only_in_a_set_called_by_it() -> None:
    at_three, at_seven = Stage("fog", 1, severity=3), Stage("black_lines", 1, level=7)
    assert (SetRef.of("fog/3", [], [at_three]).severity, SetRef.of("fog/3", [], [at_three]).level) == (3, None)
    assert (SetRef.of("black_lines/07", [], [at_seven]).severity, SetRef.of("black_lines/07", [], [at_seven]).level) == (None, 7)
    assert SetRef.of("misty", ["fog/3"], [at_three]).severity == 3
    # the same severity with an option of its own, under a name of its own
    assert SetRef.of("misty", [], [at_three]).severity is None
    assert SetRef.of("thick", [], [at_seven]).level is None
    assert SetRef.of("fog-3+black_lines-07", [], [at_three, at_seven]).severity is None
