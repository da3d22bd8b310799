"""Test mPC and rPC against plain arithmetic, tables in every format, and mistakes and missing sets."""

from __future__ import annotations

import csv
import json
from statistics import fmean

import pytest

from corruptset import score_table
from corruptset.errors import ScoreError
from corruptset.scores.published import EXTRA, FAMILIES, FIFTEEN

SEVERITIES = range(1, 6)
CLEAN = {"AP": 0.40, "AP50": 60.0}


def value(name, severity):
    """Return a metric with a different value for each set."""
    return 0.38 - 0.004 * FIFTEEN.index(name) - 0.03 * severity if name in FIFTEEN else 0.01 * severity


WHOLE = {"clean": CLEAN} | {
    f"{name}/{s}": {"AP": value(name, s), "AP50": 100 * value(name, s)}
    for name in [*FIFTEEN, *EXTRA]
    for s in SEVERITIES
}


def test_means_cover_fifteen_corruptions():
    scores = score_table(WHOLE)
    expected = fmean(fmean(value(name, s) for s in SEVERITIES) for name in FIFTEEN)
    metric = scores.metrics["AP"]
    assert (metric.clean, metric.mpc, metric.rpc) == (0.40, pytest.approx(expected), pytest.approx(expected / 0.40))
    assert scores.metrics["AP50"].mpc == pytest.approx(100 * expected)
    assert list(metric.families) == list(FAMILIES)
    for family, names in FAMILIES.items():
        mean = fmean(value(name, s) for name in names for s in SEVERITIES)
        assert metric.families[family].mean == pytest.approx(mean)
        assert metric.families[family].relative == pytest.approx(mean / 0.40)
    assert metric.corruptions["fog"].mean == pytest.approx(fmean(value("fog", s) for s in SEVERITIES))
    assert metric.missing == []
    assert scores.notes == [
        "mPC excludes 20 sets of other corruptions: speckle_noise/1, speckle_noise/2, speckle_noise/3, "
        "speckle_noise/4, speckle_noise/5 and 15 more."
    ]


def test_missing_sets_are_named_and_have_no_mean():
    subset = {k: v for k, v in WHOLE.items() if k not in ("fog/3", *(f"snow/{s}" for s in SEVERITIES))}
    subset["frost/2"] = {"AP": 0.2}
    scores = score_table(subset)
    metric = scores.metrics["AP"]
    assert (metric.mpc, metric.rpc, metric.families["weather"].mean, metric.corruptions["fog"].mean) == (
        None,
        None,
        None,
        None,
    )
    assert metric.families["noise"].mean is not None
    assert metric.missing == [*(f"snow/{s}" for s in SEVERITIES), "fog/3"]
    assert scores.metrics["AP50"].missing == [*(f"snow/{s}" for s in SEVERITIES), "frost/2", "fog/3"]
    assert scores.notes[0] == (
        "AP: There is no mPC, because these sets have no value: snow/1, snow/2, snow/3, snow/4, snow/5, fog/3."
    )
    without = score_table({k: v for k, v in WHOLE.items() if k != "clean"})
    assert without.metrics["AP"].mpc is not None
    assert without.metrics["AP"].rpc is None
    assert without.notes[0] == "AP: There is no rPC, because these sets have no value: clean."
    zero = score_table({**WHOLE, "clean": {"AP": 0.0}})
    assert zero.metrics["AP"].rpc is None
    assert any("clean value is 0" in note for note in zero.notes)


def test_custom_corruptions_can_be_scored():
    scores = score_table(
        {"mine/" + str(s): {"AP": s} for s in SEVERITIES} | WHOLE, corruptions=["mine", "speckle_noise"]
    )
    assert scores.over == ["mine", "speckle_noise"]
    assert scores.metrics["AP"].mpc == pytest.approx((3 + 0.03) / 2)
    assert set(scores.metrics["AP"].families) == {"noise", "other"}
    assert score_table(WHOLE)._repr_html_().startswith("<table>")


def test_every_table_format_gives_same_scores(tmp_path):
    expected = score_table(WHOLE)
    (tmp_path / "t.json").write_text(json.dumps(WHOLE))
    nested = {}
    for set_id, metrics in WHOLE.items():
        name, _, severity = set_id.partition("/")
        nested.setdefault(name if severity else "fog", {})[severity or "0"] = metrics
    (tmp_path / "n.json").write_text(json.dumps(nested))
    with (tmp_path / "t.csv").open("w", newline="") as file:
        rows = csv.DictWriter(file, ["set", "AP", "AP50"])
        rows.writeheader()
        rows.writerows({"set": set_id, **metrics} for set_id, metrics in WHOLE.items())
    for name in ("t.json", "n.json", "t.csv"):
        assert score_table(tmp_path / name).metrics == expected.metrics
    # mmdetection repeats the clean values for every corruption, and groups metrics by kind.
    kinds = {
        name: {s: {"bbox": m, "segm": {"AP": 0.1}} for s, m in ({"0": CLEAN} | of).items()}
        for name, of in nested.items()
    }
    result = score_table(kinds).metrics
    assert result.pop("segm AP").mpc == pytest.approx(0.1)
    assert result == {f"bbox {name}": metric for name, metric in expected.metrics.items()}


def test_table_errors_are_named(tmp_path):
    duplicates = "set,AP\nclean,1\nclean,2\n,3\nfog/1,2,3\n"
    for name, text, message in (
        ("t.csv", "name,AP\nclean,1\n", "has the columns name, AP; expected a column named set"),
        ("t.csv", "set\nclean\n", "expected a column named set, and one column per metric"),
        ("t.csv", duplicates, r"(?s)4: has no set id.*5: has no set id, or more cells"),
        ("t.csv", "set,AP\nclean,1\nclean,2\n", "clean: occurs twice with different values"),
        ("t.csv", "set,AP\nclean,much\nfog/1,nan\n", r"(?s)clean\.AP: .*'much'.*fog/1\.AP: .*finite number"),
        ("t.json", "{", "is not JSON"),
        ("t.json", "[1]", "contains no sets"),
        ("t.json", '{"schema_version": 1}', "is a scores file, not a table. Pass scores.json to `corruptset compare`"),
        ("t.json", '{"clean": 1, "fog/1": {"AP": true}}', r"(?s)clean: .*given: 1\).*fog/1\.AP: .*given: True"),
        ("t.json", '{"fog": {"0": {"AP": 1}}, "snow": {"0": {"AP": 2}}}', "clean: occurs twice with different values"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ScoreError, match=message):
            score_table(tmp_path / name)
    with pytest.raises(ScoreError, match="cannot be read"):
        score_table(tmp_path / "gone.csv")
    with pytest.raises(ScoreError, match=r"fogg: the table has no set of this corruption. Did you mean 'fog'"):
        score_table(WHOLE, corruptions=["fogg"])
    with pytest.raises(ScoreError, match=r"--lower-is-better contains 1 error:\n +ap: the table has no such metric"):
        score_table(WHOLE, lower_is_better=["ap"])


def test_rb_index_is_mean_loss_over_all_sets():
    table = {
        "clean": {"acc": 0.8, "error": 0.2},
        "fog/3": {"acc": 0.6, "error": 0.4},
        "pgd/1": {"acc": 0.2, "error": 0.8},
    }
    scores = score_table(table | {"spatter/5": {"acc": 0.0, "error": 1.0}}, lower_is_better=["error"]).metrics
    assert (scores["acc"].rb_index, scores["acc"].rb_sets) == (pytest.approx((0.2 + 0.6) / (2 * 0.8)), 2)
    assert scores["error"].rb_index == pytest.approx(-1 / (2 * 0.2) * ((0.2 - 0.4) + (0.2 - 0.8)))
    chosen = score_table(table, corruptions=["pgd"]).metrics["acc"]
    assert (chosen.rb_index, chosen.rb_sets) == (pytest.approx(0.6 / 0.8), 1)
    lacking = score_table({**table, "snow/1": {"error": 0.5}})
    assert lacking.metrics["acc"].rb_index is None
    assert "acc: There is no RB-index, because these sets have no value: snow/1." in lacking.notes
    assert score_table({"fog/3": {"acc": 0.6}}).metrics["acc"].rb_index is None
    assert score_table({**table, "clean": {"acc": 0.0, "error": 1.0}}).metrics["acc"].rb_index is None
