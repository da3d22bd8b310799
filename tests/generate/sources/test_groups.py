"""Groups from a CSV, and samples that are held out."""

from __future__ import annotations

import pytest
import source_archives as a

from corruptset.errors import SourceError
from corruptset.generate.sources.selection import HoldOut, recorded_hold_out, select, selection_record
from corruptset.generate.sources.source import Sample, open_source
from example_images import encode_image, synthetic_image

GROUPS = ["day", "night", "day", "dusk", "night", "day", "a[b]", "ab"]
SAMPLES = [Sample(i, f"s{i}", i % 2, group=group) for i, group in enumerate(GROUPS)]


def test_hold_out_selects_expected_samples():
    for groups, options, expected in (
        (["night"], {}, [1, 4]),
        (["d*", "ab"], {}, [0, 2, 3, 5, 7]),
        # a name that is also a pattern matches only the group with this name
        (["a[b]"], {}, [6]),
        (["a[bc]"], {}, [7]),
        # the other options select from the remaining samples; an id of another group still names an existing sample
        (["day"], {"first": 2}, [0, 2]),
        (["day", "night"], {"samples": 2}, [0, 2]),
        (["day"], {"ids": ["s0", "s1", "s5"]}, [0, 5]),
    ):
        assert [s.index for s in select(SAMPLES, hold_out=HoldOut(groups), **options)] == expected
        rest = [s.index for s in select(SAMPLES, hold_out=HoldOut(groups, train=True))]
        assert options or sorted(expected + rest) == list(range(8))
    assert [s.index for s in select(SAMPLES, hold_out=HoldOut(("night",), train=True), per_class=1)] == [0, 3]
    # a recipe may name groups that the source does not have
    noted = HoldOut(("night", "noon"), lenient=True)
    assert [s.index for s in select(SAMPLES, hold_out=noted)] == [1, 4]
    assert noted.notes(SAMPLES) == ["1 of the 2 groups to hold out are not in the source: noon"]
    assert HoldOut(("night",), lenient=True).notes(SAMPLES) == []


def test_invalid_hold_out_is_rejected():
    lists = (
        r"Groups of the source, with their numbers of images: "
        r"a\[b\] \(1\), ab \(1\), day \(3\), dusk \(1\), night \(2\)\.$"
    )
    many = [Sample(i, str(i), 0, group=f"g{i:02d}") for i in range(30)]
    for samples, hold_out, message in (
        (SAMPLES, HoldOut(("nigth", "noon", "day")), rf"'nigth'\. Did you mean 'night'\?\n .*'noon'\.\n{lists}"),
        (SAMPLES, HoldOut(("*",)), "All 5 groups of the source would be held out, so none remains"),
        (SAMPLES, HoldOut(("noon",), lenient=True), "no group 'noon'"),
        ([Sample(0, "a", 0)], HoldOut(("day",)), "The source has no groups"),
        (many, HoldOut(("x",)), r"g18 \(1\), g19 \(1\) and 10 more\."),
    ):
        with pytest.raises(SourceError, match=message):
            select(samples, hold_out=hold_out)


def test_record_names_groups_and_omits_absent_fields():
    selection = selection_record(SAMPLES, SAMPLES[:2])
    assert not {"grouping", "hold_out"} & selection.keys()
    held = {"groups": ["day", "dusk"], "part": "train"}
    record = selection_record(SAMPLES, SAMPLES[:2], hold_out=HoldOut(("d*",), train=True), grouping="csv")
    assert record == selection | {"grouping": "csv", "hold_out": held}
    assert recorded_hold_out(held) == HoldOut(("day", "dusk"), True)
    for other in (None, [], {}, held | {"groups": []}, held | {"part": "x"}, held | {"groups": [1]}):
        assert recorded_hold_out(other) is None


@pytest.fixture
def bird_folder(tmp_path):
    """Write two classes with three images each, and a CSV of their groups."""
    names = [f"{folder}/{i}.png" for folder in ("crow", "wren") for i in range(3)]
    rows = [f"{name},{'night' if '0' in name else 'day'}" for name in names]
    (tmp_path / "birds.csv").write_text("\n".join(["file,group", *rows]))
    return a.write_files(tmp_path / "birds", dict.fromkeys(names, encode_image(synthetic_image(16, 16))))


def test_csv_assigns_groups_to_folder(bird_folder):
    plain, source = (
        open_source(f"folder:{bird_folder}"),
        open_source(f"folder:{bird_folder}", groups=bird_folder.with_suffix(".csv")),
    )
    assert [s.group for s in source.samples] == ["night", "day", "day"] * 2
    assert a.source_contents(source) == a.source_contents(plain)
    assert (source.grouping, plain.grouping, {s.group for s in plain.samples}) == ("csv", None, {None})
    # together with labels, and inside the folder
    (bird_folder / "groups.csv").write_text("\ufefffile,group\n./crow\\0.png, late \nwren/2.png,e\u0301\n")
    (bird_folder / "labels.csv").write_text("file,label\ncrow/0.png,x\ncrow/1.png,y\nwren/2.png,x\n")
    both = open_source(
        f"folder:{bird_folder}", groups=str(bird_folder / "groups.csv"), labels=bird_folder / "labels.csv"
    )
    result = [(s.id, s.index, s.label, s.group) for s in both.samples]
    assert result == [("crow/0", 0, 0, "late"), ("wren/2", 1, 0, "é")]
    assert ("crow/1.png", "has no row in groups.csv: add one, or leave the image out") in both.notes


def test_csv_errors_are_listed(bird_folder):
    csv = bird_folder / "g.csv"
    errors = {
        "crow/9.png,day": "line 3: there is no image 'crow/9",
        "crow/0.png,night": "line 4: 'crow/0.png' is also on",
        "crow/1.png,": "line 5: 'crow/1.png' has no group",
        "wren/0.png,a,b": "line 6: has 3 columns; expected ",
        "wren/1.png,a\tb": "the group 'a\\tb' has control cha",
    }
    csv.write_text("\n".join(["file,group", "crow/0.png,day", *errors]))
    message = a.check_refused(f"folder:{bird_folder}", rf"The group file {csv} contains 5 errors:", groups=csv).split(
        "\n"
    )
    assert [message in line for message, line in zip(errors.values(), message[1:6], strict=True)] == [True] * 5
    assert message[6].endswith("the file as a path below the folder, the group a name.")
    csv.write_text("file,label\ncrow/0.png,day\n")
    a.check_refused(
        f"folder:{bird_folder}", "begins with 'file,label'; expected the header line 'file,group'", groups=csv
    )
    a.check_refused(f"folder:{bird_folder}", r"The group file .*nowhere.csv cannot be read", groups="nowhere.csv")
    for text in ("sample", "npy:a,b", "cifar10:x", "mnist:x", "hdf5:x"):
        a.check_refused(text, f"The source {text.partition(':')[0]} has no option --groups", groups="g.csv")
