"""Places of corruptions and severities: by themselves, as a file of severities says, or an error; never padded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layouts import CHOSEN, CONTRAST, PLAIN, TAKE_ALL, Shared, export, files_of, make

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.planning import plan
from corruptset.generate.views.export import export as strict_export
from corruptset.generate.views.layouts import LAYOUTS
from corruptset.generate.views.view_check import check_view, verify_view

COUNT = 6
FIVE = ["cifar-c", "imagenet-c", "imagenet-c-5k", "tiny-imagenet-c"]
DIAGONAL = [f"contrast-{s}+brightness-{s}" for s in range(1, 6)]


def options(view: str) -> dict[str, Any]:
    return {"images": [f"{c:02d}_class/im.0" for c in range(3)]} if view == "imagenet-c-5k" else {}


def test_every_view_is_here() -> None:
    assert {*TAKE_ALL, *FIVE, "mnist-c", "flageval"} == set(LAYOUTS)


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c", "tiny-imagenet-c"])
def test_sets_without_five_severities_are_refused_all_at_once_and_never_padded(
    png: Path, tmp_path: Path, view: str
) -> None:
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
    file.write_text(
        '[severities]\nmixed = ["clean", "contrast/2", "contrast/2", "contrast-3+brightness-2", "brightness/5"]\n'
    )
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
    for part in (
        "'../x' is not a name",
        "short lists 1 sets; expected 5",
        "odd: there is no set 'fog/2' here",
        "no set 'b'",
    ):
        assert part in str(e.value)
    for text in ("severities = 3", "[severities]\na = 3\n", "[other]\na = []\n", "=", "[severities]\n"):
        file.write_text(text)
        with pytest.raises(BuildError, match=r"map\.toml"):
            export("cifar-c", png, tmp_path / "data", severities=file)
    with pytest.raises(BuildError, match=r"openood does not take --severities, --allow-missing-classes"):
        export("openood", png, tmp_path / "data", severities={"a": ["clean"] * 5}, allow_missing_classes=True)
    assert not (tmp_path / "data").exists()


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
    for some in (
        ["black_lines/01", "black_lines/02", "black_lines/03", "black_lines/04", "black_lines/05"],
        DIAGONAL,
        ["sp010"],
    ):
        with pytest.raises(BuildError, match="there is no corruption with severities 1 to 5 in it"):
            export(view, chains, tmp_path / "view", sets=some, **options(view))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("view", FIVE)
def test_views_of_five_severities_take_chains_and_levels_where_they_are_told(
    chains: Path, tmp_path: Path, view: str
) -> None:
    names = {
        "contrast+brightness": DIAGONAL,
        "black_lines": ["black_lines/01", "black_lines/02", "black_lines/04", "black_lines/06", "black_lines/07"],
        "rotations": ["CLEAN", "SP0.1GA0", "type 43", "ro-30", "ro-30+sp010"],
    }
    file = tmp_path / "map.toml"
    file.write_text(
        "[severities]\n" + "".join(f"{json.dumps(name)} = {json.dumps(sets)}\n" for name, sets in names.items())
    )
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
            with pytest.raises(BuildError, match=r"cifar-10-c/labels.npy: two images, .*\nName the set otherwise"):
                export(view, chains, tmp_path / "other", severities={name: DIAGONAL})
    assert [p.name for p in tmp_path.iterdir()] == ["view"]


def test_mnist_c_takes_one_corruption_at_a_severity_by_itself_and_the_rest_as_told(
    grey_chains: Path, tmp_path: Path
) -> None:
    with pytest.raises(BuildError) as e:
        export(
            "mnist-c",
            grey_chains,
            tmp_path / "view",
            sets=["clean", "contrast/3", "sp010*", "black_lines/07", "contrast-3+brightness-5"],
        )
    assert str(e.value).splitlines()[1:-1] == [
        "  black_lines/07: levels are not severities",
        "  contrast-3+brightness-5: 2 corruptions in a row have no severity",
        "  sp010: is not at a severity of a table, 1 to 5",
        "  sp010+ro-30: 2 corruptions in a row have no severity",
    ]
    assert list(tmp_path.iterdir()) == []
    names = {"sp010+ro-30": ["type 43"], "contrast": ["contrast/4"], "lines": ["black_lines/07"]}
    done = export("mnist-c", grey_chains, tmp_path / "view", severities=names)
    assert {p.name for p in done.top.iterdir()} == {"identity", *names}
    data = corruptset.open(grey_chains)
    for name, set_id in {
        "identity": "clean",
        "sp010+ro-30": "sp010+ro-30",
        "contrast": "contrast/4",
        "lines": "black_lines/07",
    }.items():
        np.testing.assert_array_equal(np.load(done.top / name / "test_images.npy"), data[set_id].array())
    left_out, one_split = done.notes
    assert "Left out" in left_out
    assert "--split all" in one_split
    report = check_view(grey_chains, tmp_path / "view")
    assert report.ok, report.problems
    with pytest.raises(BuildError, match="Identity and identity are one name where capitals do not count"):
        export(
            "mnist-c",
            grey_chains,
            tmp_path / "other",
            sets=["clean", "contrast/3"],
            severities={"Identity": ["contrast/3"]},
        )


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c", "tiny-imagenet-c"])
def test_what_has_no_severity_is_left_out_where_nobody_names_it(shared: Shared, tmp_path: Path, view: str) -> None:
    """A recipe with a clean set has the views that it had without one."""
    recipe = {"more": CONTRAST}
    directory = shared.build(recipe=recipe)
    assert "clean" in corruptset.open(directory)
    whole, chosen = (
        export(view, directory, tmp_path / name, sets=sets) for name, sets in (("all", None), ("some", ["*/*"]))
    )
    assert files_of(whole.path) == files_of(chosen.path)
    assert check_view(directory, tmp_path / "all").ok
    for name, sets in (("by itself", None), ("by a pattern", ["*"])):
        built = make(shared.recipe(**recipe), shared.crops(), tmp_path / name, view=view, sets=sets)
        assert corruptset.open(built).set_ids == [f"contrast/{s}" for s in range(1, 6)]
        assert files_of(built / whole.top.name) == files_of(whole.top)


def test_clean_beside_corruptions_is_told_with_the_pattern_that_leaves_it_out(png: Path, tmp_path: Path) -> None:
    for view in ("imagenet-c", "cifar-c"):
        with pytest.raises(
            BuildError, match=r"clean: the clean images have no severity\nChoose what fits with --sets '\*/\*', or"
        ) as e:
            strict_export(view, png, tmp_path / "no", sets=["clean", *PLAIN])
        assert "{" not in str(e.value)
        strict_export(view, png, tmp_path / view, sets=["*/*"], any_shape=True)
    with pytest.raises(BuildError, match=r"Choose what fits with --sets '\*/\*', or build without --view"):
        plan("imagenet-c", "sample", sets=["fog/*", "clean"], view="imagenet-c")
    # where the pattern would not do, it is not given
    with pytest.raises(BuildError, match=r"Choose what fits with --sets, or say"):
        strict_export("imagenet-c", png, tmp_path / "no", sets=["clean", "contrast/[123]"])
