"""What stands in the papers' tables, against values worked out here."""

from __future__ import annotations

import made_scores
import pytest

from corruptset.scores.comparison.differences import differences
from corruptset.scores.comparison.entries import gather
from corruptset.scores.comparison.layouts import tables
from corruptset.scores.published import EXTRA, FIFTEEN
from corruptset.scores.records import Scores


def made(*compared):
    entries = gather([Scores.model_validate(one) for one in compared])
    return {table.name: table for table in tables(entries, differences(entries)[0])}


def rows_of(table):
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.rows]


@pytest.fixture(scope="module")
def three():
    return made(*map(made_scores.full, range(3)))


def test_scores_of_one_clean_set_make_one_table_of_scores_and_one_of_sets():
    found = made(made_scores.bare("a"))
    assert list(found) == ["summary", "accuracy"]
    assert found["summary"].rows == [["a", 0.9, pytest.approx(0.88), pytest.approx(0.92)]]
    assert found["accuracy"].rows == [["clean", 0.9]]


def test_all_tables_of_models_with_all_scores(three):
    assert set(three) == {
        "summary", "aude", "ce", "relative_ce", "families", "accuracy", "degradation", "degradation_levels",
        "two_factor", "correlations",
        "order_effects", "fragile", "fragile_parts", "style", "differences",
    }  # fmt: skip


def test_aude_has_the_columns_of_the_printed_table(three):
    table = three["aude"]
    assert [c.title for c in table.columns] == ["model", "clean error", "mAUDE", "relative mAUDE", *FIFTEEN, *EXTRA]
    wanted = made_scores.full(1)
    row = rows_of(table)[1]
    errors = [1 - wanted["sets"][name]["accuracy"] for name in ["clean", *(f"fog/{s}" for s in range(1, 6))]]
    assert row["fog"] == pytest.approx(
        (errors[0] / 2 + errors[1] + errors[2] + errors[3] + errors[4] + errors[5] / 2) / 5
    )
    assert row["clean error"] == pytest.approx(errors[0])
    assert row["mAUDE"] == pytest.approx(sum(row[name] for name in FIFTEEN) / 15)
    assert row["relative mAUDE"] == pytest.approx(row["mAUDE"] - row["clean error"])


def test_ce_names_its_baseline(three):
    assert three["ce"].title == "CE by corruption, relative to alexnet"
    assert [c.title for c in three["ce"].columns] == ["model", "clean error", "mCE", *FIFTEEN]
    assert rows_of(three["relative_ce"])[0]["relative mCE"] == made_scores.full(0)["relative_mce"]


def test_other_curves_have_a_table_of_their_own():
    one = made_scores.bare("a", aude={"fog": 0.2, "fog+snow": 0.3, "mine": 0.1})
    found = made(one, made_scores.bare("b", aude={"fog": 0.1}))
    assert [c.title for c in found["aude"].columns] == ["model", "clean error", "mAUDE", "relative mAUDE", "fog"]
    assert found["aude_others"].rows == [["fog+snow", 0.3, None], ["mine", 0.1, None]]


def test_first_levels_below_thresholds(three):
    rows = {(r["degradation"], r["accuracy below %"]): r for r in rows_of(three["degradation"])}
    assert {name for name, _ in rows} == {*made_scores.DEGRADATIONS, "mean"}
    for (name, threshold), row in rows.items():
        for number in range(3):
            scores = made_scores.full(number)
            profile = scores["mean_profile"] if name == "mean" else scores["profiles"][name]
            level = next((i for i, value in enumerate(profile["accuracy"]) if value < threshold / 100), "never")
            assert row[f"net-{number}"] == level
    assert "never" in [row["net-0"] for row in rows.values()]


def test_what_a_level_does_stands_once(three):
    rows = rows_of(three["degradation_levels"])
    assert len({(r["degradation"], r["level"]) for r in rows}) == len(rows)
    assert rows[0]["what the level does"] == f"{rows[0]['level']} randomly placed 1 pixel wide lines"
    assert rows[0]["pixels changed"] == pytest.approx(rows[0]["level"] / 31, abs=1e-4)


def test_two_factor_by_hand():
    compared = []
    for model, cv, accuracy, clean in [
        ("a", 1.0, 0.95, 0.99),
        ("b", 5.0, 0.93, 0.98),
        ("c", 1.5, 0.80, 0.97),
        ("d", 4.26, 0.8524, 0.96),
    ]:
        one = made_scores.full(0, model)
        one["two_factor"] |= {"cv_percent": cv, "mean_accuracy": accuracy}
        one["sets"]["clean"]["accuracy"] = clean
        one |= {"aude": {}, "maude": None, "relative_maude": None, "rb_index": None}  # they would follow from it
        compared.append(one)
    found = made(*compared)
    rows = rows_of(found["two_factor"])
    assert [(r["model"], r["quadrant"]) for r in rows] == [
        ("a", "I"),
        ("b", "II"),
        ("c", "III"),
        ("d", "IV"),
        ("reference point", None),
    ]
    assert (rows[-1]["CV %"], rows[-1]["mean accuracy"]) == pytest.approx((2.94, 0.8831))
    by = {(r["score"], r["and"]): r for r in rows_of(found["correlations"])}
    assert set(by) == {("CV", "mean accuracy"), ("CV", "clean accuracy"), ("mean accuracy", "clean accuracy")}
    # places of CV 1 4 2 3, of mean accuracy 4 3 1 2: 1 - 6 * (9 + 1 + 1 + 1) / 60
    assert by["CV", "mean accuracy"]["Spearman"] == pytest.approx(-0.2)
    assert by["CV", "mean accuracy"]["models"] == 4


def test_order_effects_stand_side_by_side(three):
    rows = rows_of(three["order_effects"])
    assert len(rows) == 6
    effect = made_scores.full(2)["two_factor"]["order_effects"][0]
    row = next(r for r in rows if r["first order"] == effect["first"])
    assert (row["second order"], row["net-2"]) == (effect["second"], effect["difference"])


def test_fragile_rates_by_size_and_change(three):
    rows = {(r["regions"], r["change"]): r for r in rows_of(three["fragile"])}
    assert len(rows) == 25
    assert rows["s16", "loose shrink"]["net-1"] == pytest.approx(1.2 * 0.17)
    part = next(
        r
        for r in rows_of(three["fragile_parts"])
        if (r["model"], r["regions"], r["change"]) == ("net-1", "s16", "loose shrink")
    )
    assert part["positive"] + part["negative"] == pytest.approx(part["rate"])
    assert part["anchors"] == 400


def test_differences_say_whether_they_exceed(three):
    rows = [r for r in rows_of(three["differences"]) if r["score"] == "rb_index"]
    assert [(r["model"], r["less"], round(r["difference"], 6), r["exceeds"]) for r in rows] == [
        ("net-0", "net-1", -0.05, "yes"), ("net-0", "net-2", -0.1, "yes"), ("net-1", "net-2", -0.05, "yes"),
    ]  # fmt: skip
    assert {r["exceeds"] for r in rows_of(three["differences"]) if r["score"] == "clean_accuracy"} == {"no interval"}


def test_a_model_without_a_score_has_an_empty_cell():
    found = made(made_scores.full(0), made_scores.bare("bare"))
    for table in found.values():
        for row, shown in zip(table.rows, table.markdown().splitlines()[2:], strict=False):
            assert shown.count("|") == len(row) + 1
    assert found["families"].rows[0][1:] == [pytest.approx(0.54), None]
    assert rows_of(found["aude"])[1]["mAUDE"] is None
