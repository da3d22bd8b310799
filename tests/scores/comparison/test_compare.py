"""Test comparisons of models: which scores are comparable, their differences, files and notes."""

from __future__ import annotations

import csv
import json
import math
import re
from itertools import combinations
from pathlib import Path

import example_scores
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corruptset import compare
from corruptset.errors import BuildError, ScoreError
from corruptset.scores.comparison.statistics import pearson, quadrant, spearman
from corruptset.scores.records import Scores

DRAWS = np.random.default_rng(0).normal(0, 0.05, 1000)
PAIRS = list(combinations([f"net-{i}" for i in range(4)], 2))
VALUES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12)


def scores(model="a", maude=0.5, draws=None, *, seed=0, units=200, **changes):
    values = {} if draws is None else {"maude": maude + draws}
    resamples = example_scores.resamples(seed, units, **values)
    return Scores.model_validate(example_scores.minimal_scores(model, {"maude": maude}, resamples=resamples) | changes)


def maude_differences(*compared, **options):
    result = compare(compared, **options)
    return {(d.first, d.second): d for d in result.differences if d.score == "maude"}, result.notes


def test_compare_writes_documented_files(tmp_path):
    lacking = {"profiles": {}, "mean_profile": None}
    small = [example_scores.without_group(example_scores.small_scores(i) | lacking, "fragile") for i in range(2)]
    files = example_scores.write_scores(tmp_path, *small)
    out = tmp_path / "out"
    result = compare(files, out)
    files_by_name = {p.relative_to(out).as_posix(): p for p in out.rglob("*") if p.is_file()}
    assert set(files_by_name.values()) == set(result.files)
    file_names = {f"tables/{table.name}.{kind}" for table in result.tables for kind in ("csv", "md", "tex")}
    plots = ("accuracy_and_cv", "error_and_severity", "maude", "order_effects")
    plot_files = {f"plots/{name}.svg" for name in plots}
    assert set(files_by_name) == file_names | plot_files | {"comparison.md"}
    page = files_by_name["comparison.md"].read_text()
    for table in result.tables:
        assert files_by_name[f"tables/{table.name}.md"].read_text().rstrip() in page
    assert "](plots/maude.svg)" in page
    assert example_scores.DIGEST in page
    rows = list(csv.DictReader(files_by_name["tables/aude.csv"].read_text().splitlines()))
    assert [row["model"] for row in rows] == ["net-0", "net-1"]
    assert float(rows[1]["mAUDE %"]) == pytest.approx(
        100 * example_scores.score_of(example_scores.small_scores(1), "maude")
    )
    assert json.loads(json.dumps(result.as_json()))["models"] == ["net-0", "net-1"]
    assert result.notes == ("PNG in place of JPEG.", "net-0: A note of 0.", "net-1: A note of 1.")
    compare(files, tmp_path / "again", plots=False)
    for name in file_names:
        assert (tmp_path / "again" / name).read_bytes() == files_by_name[name].read_bytes()
    with pytest.raises(KeyError, match="the available tables are summary"):
        result.table("sumary")


def test_files_folders_and_scores_keep_given_order(tmp_path):
    folder, file = tmp_path / "folder", example_scores.write_scores(tmp_path, example_scores.minimal_scores("c"))[0]
    example_scores.write_scores(folder, example_scores.minimal_scores("b"))[0].rename(folder / "scores.json")
    assert compare([scores("z"), folder, str(file)]).models == ("z", "b", "c")
    labels = ("a (small-c 1.0.0, 11111111)", "a (small-c 1.0.0, 22222222)")
    assert compare([scores(), scores(digest=example_scores.OTHER_DIGEST)], any_data=True).models == labels
    custom = scores(condition="correct@clean")
    assert compare([scores(), custom]).models == ("a (all images)", "a (correct@clean)")
    assert compare([custom]).models == ("a",)


def test_all_problems_are_reported_together(tmp_path):
    other = example_scores.minimal_scores("b", digest=example_scores.OTHER_DIGEST)
    value = example_scores.write_scores(
        tmp_path, example_scores.minimal_scores("a"), other, example_scores.minimal_scores("a")
    )
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "wrong.json").write_text(
        json.dumps(example_scores.minimal_scores("a") | {"samples": "many", "surplus": 1})
    )
    value += [tmp_path / f"{name}.json" for name in ("broken", "wrong", "absent")]
    with pytest.raises(ScoreError) as exc_info:
        compare(value, tmp_path / "out")
    message = "broken.json wrong.json samples surplus absent.json 'a'_occurs_2_times 22222222 --any-data"
    assert [item for item in message.split() if item.replace("_", " ") not in str(exc_info.value)] == []
    assert not (tmp_path / "out").exists()
    with pytest.raises(ScoreError, match="no scores were given"):
        compare([])


def test_differences_are_computed_per_resample():
    rng = np.random.default_rng(1)
    near = scores("b", 0.47, DRAWS + rng.normal(0, 0.005, 1000))
    result, notes = maude_differences(scores("a", 0.50, DRAWS), near, scores("c", 0.6, DRAWS))
    assert (list(result), notes) == ([("a", "b"), ("a", "c"), ("b", "c")], ())
    one = result["a", "b"]  # The confidence intervals alone would not show this.
    assert one.difference == pytest.approx(0.03)
    assert 0.015 < one.low < 0.03 < one.high < 0.045
    assert (one.exceeds, result["a", "c"].exceeds) == (True, True)
    assert result["a", "c"].high < 0
    other = np.random.default_rng(2).normal(0, 0.05, 1000)
    one = maude_differences(scores("a", 0.50, DRAWS), scores("b", 0.47, other))[0]["a", "b"]
    assert (one.low, one.high) == pytest.approx(tuple(np.quantile(0.03 + DRAWS - other, [0.025, 0.975])))
    assert one.exceeds is False
    results = [
        example_scores.replace_values(example_scores.full_scores(i), two_factor__cv_percent=3.0 + i) for i in range(2)
    ]
    for i, own in enumerate(results):
        own["resamples"]["values"] = {"two_factor.cv_percent": list(3.0 + i + DRAWS)}
    by = {d.score: d for d in compare(example_scores.validate_scores(*results)).differences}
    cv = by["two_factor.cv_percent"]  # The CV is in percent, but differences are fractions.
    assert (cv.difference, cv.low, cv.high, cv.exceeds) == (*[pytest.approx(-0.01, rel=0.02)] * 3, True)
    # The CV of the resamples exceeds the score only by chance.
    for i, (own, times) in enumerate(zip(results, (1.4, 1.5), strict=True)):
        own["resamples"]["values"] = {"two_factor.cv_percent": list(times * (3.0 + i) * (1 + DRAWS))}
    (cv,) = (
        d for d in compare(example_scores.validate_scores(*results)).differences if d.score == "two_factor.cv_percent"
    )
    assert (cv.low, cv.difference) == pytest.approx((-0.01, -0.01))
    assert (cv.high > 0, cv.exceeds) == (True, False)
    assert {"clean_accuracy", "relative_mce", "style_gap", "fragile.s28.strict_shrink"} <= by.keys()


def test_unpaired_models_have_differences_without_intervals():
    for change, message in (
        ({"seed": 1}, "different seeds"),
        ({"units": 100}, "numbers of images"),
        ({"condition": "correct@clean"}, "different images are scored"),
        ({"digest": example_scores.OTHER_DIGEST}, "different datasets"),
        ({"resamples": None}, "a file has no resamples"),
    ):
        result, (note,) = maude_differences(scores("a", 0.5, DRAWS), scores("b", 0.4, DRAWS, **change), any_data=True)
        (one,) = result.values()
        assert (one.difference, one.low, one.high, one.exceeds) == (pytest.approx(0.1), None, None, None)
        assert message in note
    custom = [scores(name, 0.5, DRAWS, condition="correct@clean") for name in "ab"]
    assert "scores different images for each model" in maude_differences(*custom)[1][0]
    assert maude_differences(*(scores(name, 0.5, DRAWS, condition="correct@clean=net") for name in "ab"))[1] == ()


def test_scores_of_other_sets_or_baselines_have_no_difference():
    results = [example_scores.full_scores(i) for i in range(4)]
    for own in results:
        own["scores"] += example_scores.score_values({"mean_accuracy": 0.5})
    of_all = {d.score for d in compare(example_scores.validate_scores(*results[:2])).differences}
    over_sets = {name for name in of_all if name in ("mean_accuracy", "rb_index") or name.startswith("two_factor.")}
    for other in results[2:]:
        del other["sets"]["fog/3"]
        other["baseline"] = "vgg"
    result = compare(example_scores.validate_scores(*results))
    scored = {pair: {d.score for d in result.differences if (d.first, d.second) == pair} for pair in PAIRS}
    assert (scored["net-0", "net-1"], scored["net-2", "net-3"]) == (of_all, of_all)
    assert scored["net-0", "net-2"] == of_all - over_sets - {"mce", "relative_mce"}
    pairs = "net-0 and net-2, net-0 and net-3, net-1 and net-2, net-1 and net-3"
    assert result.notes[:2] == (
        f"{pairs}: CEs relative to alexnet and to vgg are not comparable; score both with one --baseline.",
        f"{pairs}: means over different sets (96, 95) are not comparable; score both with the same --sets.",
    )


@given(VALUES)
def test_correlations_match_scipy(points):
    x, y = ([p[i] / 10 for p in points] for i in (0, 1))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert pearson(x, y) is spearman(x, y) is None
    else:
        assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
        assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)
    # The correlation of two models is always 1 or -1.
    assert pearson(x[:2], y[:2]) is spearman(x[:2], y[:2]) is None


def test_model_on_line_counts_as_low_cv_and_high_accuracy():
    points = [(3.0, 0.8), (3.0, 0.7), (3.5, 0.8), (3.5, 0.7), (np.nextafter(3.0, 4), 0.8)]
    assert [quadrant(*point, (3.0, 0.8)) for point in points] == ["I", "III", "II", "IV", "II"]


def test_paper_models_are_compared_around_paper_threshold(tmp_path):
    """Compare the networks of table 3 of Dai & Berleant 2021, which were trained on clean images, with another one."""
    paper_table = Path(__file__).parents[1] / "two_factor_paper_table3.csv"
    values = {"two_factor__cv_percent": 1.0, "two_factor__mean_accuracy": 0.95}
    custom = example_scores.replace_values(example_scores.full_scores(0, "own"), **values)
    names = [row["model"] for row in csv.DictReader(paper_table.read_text().splitlines())]
    clean = [name for name in names if "(clean)" in name]
    assert len(clean) == 3
    result = compare([paper_table, *example_scores.validate_scores(custom)], tmp_path, plots=False, reference=clean)
    *rows, point = result.table("two_factor").to_pandas().to_dict("records")
    assert [row["model"] for row in rows] == [*names, "own"]
    assert (point["CV %"], point["mean accuracy"]) == pytest.approx((2.94, 0.8831), abs=5e-5)
    assert (rows[-1]["quadrant"], rows[-1]["names"]) == ("I", 69)
    assert all(math.isnan(row["names"]) for row in rows[:-1])
    # Printed tables contain no resamples, so their differences are not tested.
    assert (result.differences, [note for note in result.notes if "intervals" in note]) == ((), [])
    page = (tmp_path / "comparison.md").read_text()
    assert f"The reference point is: mean of {', '.join(clean)}." in page
    assert "a printed table" not in page
    arguments = compare([paper_table], reference="2.94,88.31").table("two_factor")
    assert [row[-1] for row in arguments.rows[:-1]] == [row["quadrant"] for row in rows[:-1]]
    message = r"--reference: no model with two-factor scores is called 'net-7'.* Known models: AlexNet"
    with pytest.raises(ScoreError, match=message):
        compare([paper_table], reference="AlexNet (clean),net-7")


def test_printed_tables_with_errors_are_rejected(tmp_path):
    path = tmp_path / "table.csv"
    for text, message in (
        ("model,cv,mean\na,1,90\n", "has no column clean; expected a line model,cv,mean,clean"),
        ("", "has no column model and no column cv and no column mean and no column clean"),
        ("model,cv,mean,clean\n", "has no model; expected a line model,cv,mean,clean, and a line per model"),
        ("model,cv,mean,clean\na,1,x,90\n", "line 2 is 'a,1,x,90'; expected a name and three numbers"),
        *((f"model,cv,mean,clean\n{row}\n", f"line 2 is {row!r}") for row in ("a,1,90", "a,1,90,90,9", ",1,90,90")),
        *(
            (f"model,cv,mean,clean\nz,1,80,90\na,{row}\n", "line 3: ")
            for row in ("-1,80,90", "nan,80,90", "1,190,90", "1,80,-2", "0.01,0.8,0.9", "1,80,inf")
        ),
    ):
        path.write_text(text)
        with pytest.raises(ScoreError, match=re.escape(message)):
            compare([path])
    for text in ("2.94,188.31", "-2.94,88.31", "0.0294,0.8831"):
        with pytest.raises(ScoreError, match=r"--reference: .*expected a CV of at least 0 and acc"):
            compare(example_scores.validate_scores(example_scores.full_scores()), reference=text)
    unused = ("The reference point is not used, because no model has two-factor scores.",)
    assert compare([scores()], reference=(2.94, 88.31)).notes == unused


@pytest.mark.parametrize("name", ["tables", "plots"])
def test_nothing_is_written_through_link_out_of_folder(tmp_path, name):
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    out.mkdir()
    (out / name).symlink_to(outside)
    with pytest.raises(BuildError, match="symbolic link that leads out of"):
        compare([scores("a"), scores("b")], out)
    assert not [*outside.iterdir()]
