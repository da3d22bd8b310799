"""Test the file formats of tables, and the contents of the tables of a comparison."""

from __future__ import annotations

import re
import string
import sys

import example_scores
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import corruptset
from corruptset.errors import ScoreError
from corruptset.manifests.records.markdown import markdown_text
from corruptset.scores.published import EXTRA, FIFTEEN
from corruptset.scores.tables import Column, Table, latex_text

NASTY = '50%_of {a}\\b & c$ #1 ~x^2 <i> | "q" *[0]'
TABLE = Table(
    "t", "Title of 5 %",
    [Column("model", "text"), Column("error"), Column("gain", "points"), Column("CV %", "number"), Column("level",
    "whole")],
    [[NASTY, 0.12346, -0.0321, 2.94, 7], ["b", None, 0.5, None, "never"], ["c", 1.0, -0.00001, 0.0, None]],
    ["a | b"],
)  # fmt: skip


CSV = """\
model,error %,"gain, points",CV %,level
"50%_of {a}\\b & c$ #1 ~x^2 <i> | ""q"" *[0]",12.346,-3.21,2.94,7
b,,50,,never
c,100,-0.001,0,
"""
MARKDOWN = r"""
| model | error % | gain, points | CV % | level |
| --- | ---: | ---: | ---: | ---: |
| 50%\_of {a}\\b \& c$ \#1 \~x^2 \<i\> \| "q" \*\[0\] | 12.35 | -3.21 | 2.940 | 7 |
| b | - | +50.00 | - | never |
| c | 100.00 | 0.00 | 0.000 | - |

a \| b
"""
LATEX = r"""
% Title of 5 %
% a | b
\begin{tabular}{lrrrr}
\hline
model & error \% & gain, points & CV \% & level \\
\hline
50\%\_of \{a\}\textbackslash{}b \& c\$ \#1 \textasciitilde{}x\textasciicircum{}2 \textless{}i\textgreater{} \textbar{} ''q'' {*}{[}0{]} & 12.35 & $-$3.21 & 2.940 & 7 \\
b & - & +50.00 & - & never \\
c & 100.00 & 0.00 & 0.000 & - \\
\hline
\end{tabular}
"""  # noqa: E501


def test_table_is_exact_as_csv_and_rounded_in_markdown(monkeypatch):
    assert TABLE.csv() == CSV
    # A value that is rounded to 0 has no sign.
    assert {Column("gain", "points").shown(value) for value in (0.0, -0.0, 0.00001)} == {"0.00"}
    assert TABLE.markdown().strip() == MARKDOWN.strip()
    assert TABLE.latex().strip() == LATEX.strip()
    frame = TABLE.to_pandas()
    assert list(frame.columns) == ["model", "error", "gain", "CV %", "level"]
    assert frame["error"][0] == 0.12346
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ScoreError, match="pip install pandas"):
        TABLE.to_pandas()


def test_page_shows_intervals_below_values_and_omits_empty_columns():
    columns = [Column("model", "text"), Column("mCE"), Column("CV"), Column("l", end="low"), Column("h", end="high")]
    table = Table("summary", "<Summary>", columns, [["<a>", None, 0.5, 0.4, 0.6], ["b", None, None, None, None]])
    page_table = table.on_page()
    assert [column.title for column in page_table.columns] == ["model", "CV"]
    assert page_table.rows == [[("<a>", ""), ("50.00", "40.00 to 60.00")], [("b", ""), ("-", "")]]
    assert (len(table.on_page(2).rows), table.on_page(2).left_out) == (1, 1)
    html = table._repr_html_()
    assert "<td>&lt;a&gt; <small></small></td><td>50.00 <small>40.00 to 60.00</small></td>" in html
    assert "&lt;Summary&gt;" in html
    (scores,) = example_scores.validate_scores(example_scores.full_scores(0, "<net>"))
    assert "&lt;net&gt; on small-c" in scores._repr_html_()
    assert f"<td>{100 * scores.get('maude'):.2f} <small></small></td>" in scores._repr_html_()
    assert "<th>mAUDE %</th>" in corruptset.compare([scores])._repr_html_()


@given(st.text(alphabet=[*string.punctuation.replace("'", ""), *"aZ0 éß…☃"]))
@example("[1ex] is no space between rows")
@example("* neither")
def test_escaped_text_has_same_meaning(text):
    latex = latex_text(text)
    plain_text = re.sub(r"\{([\[\]*])\}", r"\1", latex).replace(r"\textbackslash{}", "\x00").replace("''", '"')
    for command, letter in [("asciitilde", "~"), ("asciicircum", "^"), ("less", "<"), ("greater", ">"), ("bar", "|")]:
        plain_text = plain_text.replace(f"\\text{command}{{}}", letter)
    plain_text = re.sub(r"\\([{}&%$#_])", r"\1", plain_text).replace("\x00", "\\")
    assert plain_text == text
    assert not re.search(r"(?<!\\)[&%$#_~^]", latex)
    assert not latex.startswith(("[", "*"))
    assert not re.search(r"(?<!\\)(?:\\\\)*[|*`<>#]", re.sub(r"\\.", "", markdown_text(text)))


def test_control_characters_are_escaped():
    name = "a\nb\x1b[2J"
    table = Table("t", "t", [Column("m", "text")], [[name]])
    for text in (latex_text(name), markdown_text(name), table.csv().splitlines()[1]):
        assert text.isprintable()
        assert "x1b" in text


def comparison_tables(*compared):
    return {table.name: table for table in corruptset.compare(example_scores.validate_scores(*compared)).tables}


def rows_of(table):
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.rows]


@pytest.fixture(scope="module")
def three_models():
    return comparison_tables(*map(example_scores.full_scores, range(3)))


def test_comparison_has_tables_for_available_scores(three_models):
    bare = comparison_tables(example_scores.minimal_scores("a"))
    assert {name: table.rows for name, table in bare.items()} == {
        "summary": [["a", 0.9, pytest.approx(0.88), pytest.approx(0.92)]],
        "accuracy": [["clean", 0.9]],
    }
    names = "summary aude ce relative_ce families accuracy degradation degradation_levels two_factor correlations "
    assert list(three_models) == (names + "order_effects fragile fragile_parts style differences").split()
    both = comparison_tables(example_scores.full_scores(0), example_scores.minimal_scores("bare"))
    assert both["families"].rows[0][1:] == [pytest.approx(0.54), None]
    assert rows_of(both["aude"])[1]["mAUDE"] is None
    areas = {"aude.fog": 0.2, "aude.fog+snow": 0.3, "aude.mine": 0.1}
    curves = comparison_tables(example_scores.minimal_scores("a", areas), example_scores.minimal_scores("b"))
    assert [c.title for c in curves["aude"].columns] == ["model", "clean error", "mAUDE", "relative mAUDE", "fog"]
    assert curves["aude_others"].rows == [["fog+snow", 0.3, None], ["mine", 0.1, None]]


def test_error_tables_have_published_layout(three_models):
    table, expected = three_models["aude"], example_scores.full_scores(1)
    row = rows_of(table)[1]
    assert list(row) == ["model", "clean error", "mAUDE", "relative mAUDE", *FIFTEEN, *EXTRA]
    areas = {name: example_scores.score_of(expected, f"aude.{name}") for name in (*FIFTEEN, *EXTRA)}
    assert {name: row[name] for name in areas} == pytest.approx(areas)
    means = (example_scores.score_of(expected, name) for name in ("maude", "relative_maude"))
    totals = (1 - expected["sets"]["clean"]["accuracy"], *means)
    assert (row["clean error"], row["mAUDE"], row["relative mAUDE"]) == pytest.approx(totals)
    assert three_models["ce"].title == "CE by corruption, relative to alexnet"
    assert list(rows_of(three_models["ce"])[0]) == ["model", "clean error", "mCE", *FIFTEEN]
    assert rows_of(three_models["relative_ce"])[0]["relative mCE"] == example_scores.score_of(
        example_scores.full_scores(0), "relative_mce"
    )


def test_gradual_order_fragile_and_difference_tables_are_correct(three_models):
    rows = {(r["degradation"], r["accuracy below %"]): r for r in rows_of(three_models["degradation"])}
    assert {name for name, _ in rows} == {*example_scores.DEGRADATIONS, "mean"}
    for (name, threshold), row in rows.items():
        for number in range(3):
            scores = example_scores.full_scores(number)
            profile = scores["mean_profile"] if name == "mean" else scores["profiles"][name]
            level = next((i for i, value in enumerate(profile["accuracy"]) if value < threshold / 100), "never")
            assert row[f"net-{number}"] == level
    assert "never" in [row["net-0"] for row in rows.values()]
    levels = rows_of(three_models["degradation_levels"])
    assert len({(r["degradation"], r["level"]) for r in levels}) == len(levels)
    first = levels[0]
    assert first["effect of the level"] == f"{first['level']} randomly placed 1 pixel wide lines"
    assert first["pixels changed"] == pytest.approx(first["level"] / 31, abs=1e-4)
    effect = example_scores.full_scores(2)["order_effects"][0]
    row = next(r for r in rows_of(three_models["order_effects"]) if r["first order"] == effect["first"])
    assert (row["second order"], row["net-2"]) == (effect["second"], effect["difference"])
    fragile = {(r["regions"], r["change"]): r for r in rows_of(three_models["fragile"])}
    assert (len(fragile), fragile["s16", "loose shrink"]["net-1"]) == (25, pytest.approx(1.2 * 0.17))
    parts = {(r["model"], r["regions"], r["change"]): r for r in rows_of(three_models["fragile_parts"])}
    part = parts["net-1", "s16", "loose shrink"]
    assert (part["positive"], part["negative"]) == pytest.approx((0.6 * part["rate"], 0.4 * part["rate"]))
    assert (part["anchors"], part["minimal images"]) == (400, 5)
    differences = rows_of(three_models["differences"])
    result = [r for r in differences if r["score"] == "rb_index"]
    assert [(r["model"], r["minus"], round(r["difference"], 6), r["exceeds"]) for r in result] == [
        ("net-0", "net-1", -0.05, "yes"), ("net-0", "net-2", -0.1, "yes"), ("net-1", "net-2", -0.05, "yes"),
    ]  # fmt: skip
    assert {r["exceeds"] for r in differences if r["score"] == "clean_accuracy"} == {"no interval"}


def test_two_factor_table_matches_manual_calculation():
    compared = []
    points = [("a", 1.0, 0.95, 0.99), ("b", 5.0, 0.93, 0.98), ("c", 1.5, 0.80, 0.97), ("d", 4.26, 0.8524, 0.96)]
    for model, cv, accuracy, clean in points:
        compared.append(
            example_scores.minimal_scores(model, {**example_scores.two_factor(accuracy, cv), "clean_accuracy": clean})
        )
    result = comparison_tables(*compared)
    rows = rows_of(result["two_factor"])
    assert [r["quadrant"] for r in rows] == ["I", "II", "III", "IV", None]
    assert (rows[-1]["CV %"], rows[-1]["mean accuracy"]) == pytest.approx((2.94, 0.8831))
    by = {(r["score"], r["and"]): r for r in rows_of(result["correlations"])}
    assert set(by) == {("CV", "mean accuracy"), ("CV", "clean accuracy"), ("mean accuracy", "clean accuracy")}
    # The ranks of CV are 1 4 2 3, and those of mean accuracy are 4 3 1 2: 1 - 6 * (9 + 1 + 1 + 1) / 60
    assert by["CV", "mean accuracy"]["Spearman"] == pytest.approx(-0.2)
    assert by["CV", "mean accuracy"]["models"] == 4
