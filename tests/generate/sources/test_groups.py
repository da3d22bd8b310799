"""Groups: a CSV beside a folder, and samples that are held out; every mistake at once."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.sources.groups import HoldOut, recorded_hold_out
from corruptset.generate.sources.selection import select, selection_record
from corruptset.generate.sources.source import Sample, open_source

GROUPS = ["day", "night", "day", "dusk", "night", "day", "a[b]", "ab"]
SAMPLES = [Sample(i, f"s{i}", i % 2, group=group) for i, group in enumerate(GROUPS)]


def chosen(*groups, train=False, lenient=False, **options):
    return [s.index for s in select(SAMPLES, hold_out=HoldOut(groups, train, lenient), **options)]


def test_held_out_and_held_in_are_the_whole():
    assert chosen("night") == [1, 4]
    assert chosen("night", train=True) == [0, 2, 3, 5, 6, 7]
    assert chosen("d*", "ab") == [0, 2, 3, 5, 7]
    for groups in (("day",), ("night", "dusk"), ("*y",), ("a?",)):
        assert sorted(chosen(*groups) + chosen(*groups, train=True)) == list(range(8))


def test_a_name_means_itself_before_it_is_a_pattern():
    assert chosen("a[b]") == [6]
    assert chosen("a[bc]") == [7]


def test_the_other_options_choose_from_what_is_left():
    assert chosen("day", first=2) == [0, 2]
    assert chosen("night", train=True, per_class=1) == [0, 3]
    assert chosen("day", "night", samples=2) == [0, 2]
    # an id of another group names a sample that there is
    assert chosen("day", ids=["s0", "s1", "s5"]) == [0, 5]
    assert [s.index for s in select(SAMPLES, first=1)] == [0]


def test_what_cannot_be_held_out():
    with pytest.raises(SourceError) as error:
        chosen("nigth", "noon", "day")
    assert str(error.value).split("\n") == [
        "What is to be held out (--hold-out, or the recipe's):",
        "  there is no group 'nigth'. Did you mean 'night'?",
        "  there is no group 'noon'.",
        "Groups, with their images: a[b] (1), ab (1), day (3), dusk (1), night (2).",
    ]
    with pytest.raises(SourceError, match="are all 5 groups of the source, and none is left to train with"):
        chosen("*")
    with pytest.raises(SourceError, match="The source has no groups"):
        select([Sample(0, "a", 0)], hold_out=HoldOut(("day",)))
    many = [Sample(i, str(i), 0, group=f"g{i:02d}") for i in range(30)]
    with pytest.raises(SourceError, match=r"g18 \(1\), g19 \(1\) and 10 more\."):
        select(many, hold_out=HoldOut(("x",)))


def test_a_recipe_may_name_what_the_source_has_not():
    assert chosen("night", "noon", lenient=True) == [1, 4]
    with pytest.raises(SourceError, match="no group 'noon'"):
        chosen("noon", lenient=True)
    assert HoldOut(("night",), lenient=True).notes(SAMPLES) == []
    assert HoldOut(("night", "noon"), lenient=True).notes(SAMPLES) == [
        "1 of the 2 groups to hold out are not in the source: noon"
    ]


def test_the_record_names_groups_and_leaves_out_what_there_is_not():
    plain = selection_record(SAMPLES, SAMPLES[:2], first=2)
    assert not {"grouping", "hold_out"} & plain.keys()
    held = HoldOut(("d*",), train=True)
    record = selection_record(SAMPLES, SAMPLES[:2], hold_out=held, grouping="csv")
    assert record == selection_record(SAMPLES, SAMPLES[:2]) | {
        "grouping": "csv",
        "hold_out": {"groups": ["day", "dusk"], "part": "train"},
    }
    assert recorded_hold_out(record["hold_out"]) == HoldOut(("day", "dusk"), True)
    for other in (
        None,
        [],
        {},
        {"groups": [], "part": "test"},
        {"groups": ["a"], "part": "x"},
        {"groups": [1], "part": "test"},
    ):
        assert recorded_hold_out(other) is None


@pytest.fixture
def birds(tmp_path):
    """A folder of two classes with three images each, and a CSV that says their groups."""
    for folder in ("crow", "wren"):
        (tmp_path / "birds" / folder).mkdir(parents=True)
        for i in range(3):
            pixels = np.random.default_rng(i).integers(0, 256, (16, 16, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "birds" / folder / f"{i}.png")
    rows = [f"{folder}/{i}.png,{'day' if i else 'night'}" for folder in ("crow", "wren") for i in range(3)]
    (tmp_path / "birds.csv").write_text("file,group\n" + "\n".join(rows) + "\n")
    return tmp_path / "birds"


def test_a_csv_gives_a_folder_groups(birds):
    source = open_source(f"folder:{birds}", groups=birds.with_suffix(".csv"))
    assert [(s.index, s.id, s.group) for s in source.samples][:4] == [
        (0, "crow/0", "night"), (1, "crow/1", "day"), (2, "crow/2", "day"), (3, "wren/0", "night"),
    ]  # fmt: skip
    assert source.grouping == "csv"
    plain = open_source(f"folder:{birds}")
    assert (plain.grouping, {s.group for s in plain.samples}) == (None, {None})
    # beside labels, and inside the folder
    (birds / "groups.csv").write_text("\ufefffile,group\n./crow\\0.png, late \nwren/2.png,e\u0301\n")
    (birds / "labels.csv").write_text("file,label\ncrow/0.png,x\ncrow/1.png,y\nwren/2.png,x\n")
    both = open_source(f"folder:{birds}", groups=str(birds / "groups.csv"), labels=birds / "labels.csv")
    assert [(s.id, s.index, s.label, s.group) for s in both.samples] == [
        ("crow/0", 0, 0, "late"),
        ("wren/2", 1, 0, "é"),
    ]
    assert ("crow/1.png", "has no row in groups.csv: add one, or leave the image out") in both.notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("file,label\ncrow/0.png,day\n", "begin with 'file,label'; expected the header line 'file,group'"),
        ("", "begin with 'nothing'"),
        ("file,group\n", "have a header and no rows"),
    ],
)
def test_a_csv_of_something_else(birds, text, said):
    (birds / "g.csv").write_text(text)
    with pytest.raises(SourceError, match=said):
        open_source(f"folder:{birds}", groups=birds / "g.csv")


def test_every_mistake_of_a_csv_is_listed(birds):
    rows = ["crow/0.png,day", "crow/9.png,day", "crow/0.png,night", "crow/1.png,", "wren/0.png,a,b", "wren/1.png,a\tb"]
    (birds / "g.csv").write_text("file,group\n" + "\n".join(rows) + "\n")
    with pytest.raises(SourceError) as error:
        open_source(f"folder:{birds}", groups=birds / "g.csv")
    first, *lines = str(error.value).split("\n")
    assert first == f"The groups {birds / 'g.csv'} have 5 mistakes:"
    assert [line.strip()[:32] for line in lines[:5]] == [
        "line 3: there is no image 'crow/",
        "line 4: 'crow/0.png' was given o",
        "line 5: 'crow/1.png' has no grou",
        "line 6: has 3 columns; expected ",
        "the group 'a\\tb' has control cha",
    ]
    assert lines[5].endswith("the file as a path below the folder, the group a name.")


def test_who_takes_groups(birds):
    for text in ("sample", "npy:a,b", "cifar10:x", "mnist:x", "hdf5:x"):
        with pytest.raises(SourceError, match=f"The source {text.partition(':')[0]} takes no --groups"):
            open_source(text, groups="g.csv")
    with pytest.raises(SourceError, match=r"The groups .*nowhere.csv cannot be read"):
        open_source(f"folder:{birds}", groups="nowhere.csv")
