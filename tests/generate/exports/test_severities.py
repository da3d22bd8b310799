"""Test the names of sets in exports, which come from severities or from a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from small_builds import CHAIN_PATTERNS, CONTRAST_SETS, SharedData, export, read_files

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.exports.export_check import check_export, verify_export

COUNT = 6
DIAGONAL = [f"contrast-{s}+brightness-{s}" for s in range(1, 6)]
LEVELS = [f"black_lines/{level:02d}" for level in range(1, 8)]
TWO = "a chain of 2 corruptions has no severity"
MISFITS = [
    "  black_lines/01 ... black_lines/07 (7 sets): levels are not severities",
    f"  brightness-5+contrast-3: {TWO}",
    "  clean: the clean images have no severity",
    f"  contrast-3+brightness-5: {TWO}",
    "  ro-30: its severity is not one of 1 to 5",
    f"  ro-30+sp010: {TWO}",
    "  sp010: its severity is not one of 1 to 5",
    f"  sp010+ro-30: {TWO}",
]


@pytest.mark.parametrize("layout", ["cifar-c", "imagenet-c"])
def test_layouts_with_five_severities_reject_other_sets_by_name(
    chains: Path, png: Path, tmp_path: Path, layout: str
) -> None:
    def refused(directory: Path, sets: list[str]) -> str:
        with pytest.raises(BuildError) as exc_info:
            export(layout, directory, tmp_path / "export", sets=sets)
        assert list(tmp_path.iterdir()) == []
        return str(exc_info.value)

    message = refused(chains, CHAIN_PATTERNS)
    assert message.splitlines()[1:-1] == MISFITS
    assert "--severities FILE" in message
    for some in (LEVELS[:5], DIAGONAL, ["sp010"]):
        assert "the dataset has no corruption with severities 1 to 5" in refused(chains, some)
    # nothing is padded
    message = refused(png, ["brightness/[124]", "contrast/*"])
    assert "brightness: has severities 1, 2, 4, not 3, 5" in message
    assert "contrast: " not in message


@pytest.mark.parametrize("layout", ["cifar-c", "imagenet-c-5k"])
def test_severities_file_assigns_sets_and_names_excluded_ones(chains: Path, tmp_path: Path, layout: str) -> None:
    names = {
        "contrast+brightness": DIAGONAL,
        "black_lines": [LEVELS[n] for n in (0, 1, 3, 5, 6)],
        "rotations": ["CLEAN", "SP0.1GA0", "SP0.1GA0", "type 43", "ro-30+sp010"],
    }
    file = tmp_path / "map.toml"
    file.write_text(
        "\n".join(["[severities]", *(f"{json.dumps(n)} = {json.dumps(sets)}" for n, sets in names.items())])
    )
    options = {"images": [f"{c:02d}_class/im.0" for c in range(3)]} if layout == "imagenet-c-5k" else {}
    result = export(layout, chains, tmp_path / "export", severities=file, **options)
    # what fits by itself is there as well: contrast/2 as dull, which is another name of it
    assert {p.name.removesuffix(".npy") for p in result.top.iterdir()} - {"labels"} == {*names, "contrast"}
    (note,) = (n for n in result.notes if "Omitted" in n)
    assert "black_lines/03" in note
    for report in (verify_export(tmp_path / "export"), check_export(chains, tmp_path / "export")):
        assert report.ok, report.problems
    record = json.loads((tmp_path / "export/VIEW.json").read_text("utf-8"))
    assert {s["id"] for s in record["sets"]} == {
        "clean", "sp010", "sp010+ro-30", "ro-30+sp010", *names["black_lines"], *DIAGONAL, "dull",
        *(f"contrast/{s}" for s in (1, 3, 4, 5)),
    }  # fmt: skip
    if layout == "cifar-c":
        data, ids = corruptset.open(chains), ("clean", "sp010", "sp010", "sp010+ro-30", "ro-30+sp010")
        rotations = np.concatenate([data[i].array() for i in ids])
        np.testing.assert_array_equal(np.load(result.top / "rotations.npy"), rotations)


def test_severities_errors_are_listed_together(png: Path, chains: Path, tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    five = '["clean", "clean", "clean", "clean", "clean"]'
    file.write_text(f'[severities]\n"../x" = {five}\nshort = ["clean"]\nodd = ["clean","fog/2","b","c","d"]\n')
    with pytest.raises(BuildError) as exc_info:
        export("cifar-c", png, tmp_path / "data", severities=file)
    expected = (
        "'../x' is not a name",
        "short lists 1 sets; expected 5",
        "odd: the dataset has no set 'fog/2'",
        "no set 'b'",
    )
    assert [part for part in expected if part not in str(exc_info.value)] == []
    for text in ("severities = 3", "[severities]\na = 3\n", "[other]\na = []\n", "=", "[severities]\n"):
        file.write_text(text)
        with pytest.raises(BuildError, match=r"map\.toml"):
            export("cifar-c", png, tmp_path / "data", severities=file)
    # on some file systems the second of two names would be written over the first
    capitals = r"(?s)/1: would contain two sets\n.*names that differ in more than upper and lower case"
    for layout, names, match in (
        ("openood", {"a": ["clean"] * 5}, "openood does not use --severities, --allow-missing-classes"),
        ("imagenet-c", {"Contrast": DIAGONAL}, capitals),
        ("imagenet-c", {"dim": DIAGONAL, "DIM": DIAGONAL}, capitals),
        (
            "cifar-c",
            {"Labels": DIAGONAL},
            r"cifar-10-c/labels.npy: would contain two sets\nWith --severities, choose names",
        ),
    ):
        with pytest.raises(BuildError, match=match):
            export(layout, chains, tmp_path / "data", severities=names, allow_missing_classes=layout == "openood")
    assert not (tmp_path / "data").exists()


def test_mnist_c_uses_single_severity_by_default_and_others_on_request(grey_chains: Path, tmp_path: Path) -> None:
    levels, _, _, chain, _, _, *others = MISFITS
    for sets, lines in (
        (["clean", "contrast/3", "sp010*", "black_lines/0*", "contrast-3+brightness-5"], [levels, chain, *others]),
        (["clean", "contrast/[13]"], ["  contrast: is contrast/1, contrast/3; the layout has one set per name"]),
    ):
        with pytest.raises(BuildError) as exc_info:
            export("mnist-c", grey_chains, tmp_path / "export", sets=sets)
        assert str(exc_info.value).splitlines()[1:-1] == lines
        assert list(tmp_path.iterdir()) == []
    names = {"sp010+ro-30": ["type 43"], "contrast": ["contrast/4"], "lines": ["black_lines/07"]}
    result = export("mnist-c", grey_chains, tmp_path / "export", severities=names)
    data, places = corruptset.open(grey_chains), {"identity": "clean"} | {name: ids[0] for name, ids in names.items()}
    assert {p.name for p in result.top.iterdir()} == set(places)
    for name, set_id in places.items():
        images = np.load(result.top / name / "test_images.npy")
        assert (images.shape, images.dtype) == ((COUNT, 28, 28, 1), np.uint8)
        np.testing.assert_array_equal(images, data[set_id].array())
    assert [words in note for words, note in zip(("Omitted", "--split all"), result.notes, strict=True)] == [True, True]
    report = check_export(grey_chains, tmp_path / "export")
    assert report.ok, report.problems


def test_sets_without_severity_are_excluded_unless_named(shared_data: SharedData, tmp_path: Path) -> None:
    """A recipe with a clean set has the same exports as without it."""
    recipe = {"more": CONTRAST_SETS}
    directory = shared_data.build(recipe=recipe)
    for layout in ("cifar-c", "imagenet-c"):
        all_sets, chosen = (
            export(layout, directory, tmp_path / layout / str(sets), sets=sets) for sets in (None, ["*/*"])
        )
        assert read_files(all_sets.path) == read_files(chosen.path)
        with pytest.raises(
            BuildError, match=r"clean: the clean images have no severity\n.*such as '\*/\*'\), or"
        ) as exc_info:
            export(layout, directory, tmp_path / "no", sets=["clean", "contrast/*"])
        assert "{" not in str(exc_info.value)
