"""How tables are written."""

from __future__ import annotations

import csv
import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corruptset.errors import ScoreError
from corruptset.scores.tables import Column, Table, latex_text, markdown_text

NASTY = '50%_of {a}\\b & c$ #1 ~x^2 <i> | "q" *[0]'
TABLE = Table(
    "t", "Title of 5 %",
    [Column("model", "text"), Column("error"), Column("gain", "points"), Column("CV %", "number"), Column("level",
    "whole")],
    [[NASTY, 0.12346, -0.0321, 2.94, 7], ["b", None, 0.5, None, "never"], ["c", 1.0, -0.00001, 0.0, None]],
    ["a | b"],
)  # fmt: skip


def test_csv_is_exact_and_empty_where_there_is_no_value():
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [
        ["model", "error %", "gain, points", "CV %", "level"],
        [NASTY, "12.346", "-3.21", "2.94", "7"],
        ["b", "", "50", "", "never"],
        ["c", "100", "-0.001", "0", ""],
    ]
    assert "\r" not in TABLE.csv()


def test_markdown_rounds_and_aligns():
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "| model | error % | gain, points | CV % | level |"
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: |"
    assert lines[2].endswith("| 12.35 | -3.21 | 2.940 | 7 |")
    assert lines[3] == "| b | - | +50.00 | - | never |"
    # what rounds to nothing has no sign
    assert lines[4] == "| c | 100.00 | 0.00 | 0.000 | - |"
    assert lines[-1] == "a \\| b"
    for line in lines[:5]:
        assert len(re.findall(r"(?<!\\)\|", line)) == 6


def test_latex_is_a_tabular_that_needs_no_package():
    lines = TABLE.latex().splitlines()
    assert lines[:2] == ["% Title of 5 %", "% a | b"]
    assert lines[2] == r"\begin{tabular}{lrrrr}"
    assert lines[4] == r"model & error \% & gain, points & CV \% & level \\"
    assert lines[7] == r"b & - & +50.00 & - & never \\"
    assert r"& $-$3.21 &" in lines[6]
    assert lines[-1] == r"\end{tabular}"
    for row in lines[6:9]:
        assert len(re.findall(r"(?<!\\)&", row)) == 4


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])))
def test_escaped_text_says_what_the_text_says(text):
    written = latex_text(text)
    plain = re.sub(r"\{([\[\]*])\}", r"\1", written).replace(r"\textbackslash{}", "\x00").replace("''", '"')
    for command, letter in [("asciitilde", "~"), ("asciicircum", "^"), ("less", "<"), ("greater", ">"), ("bar", "|")]:
        plain = plain.replace(f"\\text{command}{{}}", letter)
    plain = re.sub(r"\\([{}&%$#_])", r"\1", plain).replace("\x00", "\\")
    if text.isprintable() and "''" not in text:
        assert plain == text
    assert not re.search(r"(?<!\\)[&%$#_~^]", written)
    assert not written.startswith(("[", "*"))
    marked = markdown_text(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[|*`<>#]", re.sub(r"\\.", "", marked))


def test_control_characters_are_written_as_escapes():
    name = "a\nb\x1b[2J"
    for text in (
        latex_text(name),
        markdown_text(name),
        Table("t", "t", [Column("m", "text")], [[name]]).csv().splitlines()[1],
    ):
        assert text.isprintable()
        assert "x1b" in text


@pytest.mark.parametrize(
    ("text", "wanted"), [("gaussian_noise", "gaussian_noise"), ("_x_", r"\_x\_"), ("a__b", r"a\_\_b")]
)
def test_underscores_inside_words_stay_in_markdown(text, wanted):
    assert markdown_text(text) == wanted


def test_a_table_for_pandas(monkeypatch):
    frame = TABLE.to_pandas()
    assert list(frame.columns) == ["model", "error", "gain", "CV %", "level"]
    assert frame["error"][0] == 0.12346
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ScoreError, match="pip install pandas"):
        TABLE.to_pandas()
