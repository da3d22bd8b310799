"""Charts: where lines lie, how models look, and what is said of them."""

from __future__ import annotations

import re
from importlib import resources
from itertools import pairwise

import jinja2
import pytest

from corruptset.scores.comparison.curves import Point, Spot, apart
from corruptset.scores.results_page.charts import Chart, Line, line_chart, look, marker, quadrant_chart

STYLE = resources.files("corruptset.pages").joinpath("templates/page.css").read_text("utf-8") + resources.files(
    "corruptset.scores.results_page"
).joinpath("templates/own.css").read_text("utf-8")


def chart(*models: list[Point], x_texts: dict[float, str] | None = None) -> Chart:
    lines = [Line(n, f"net-{n}", points) for n, points in enumerate(models)]
    return line_chart("fog", "severity", "error, %", lines, (0, 100), x_texts)


def drawn(shown: Chart) -> str:
    """Return a chart of lines as the template writes it."""
    environment = jinja2.Environment(loader=jinja2.PackageLoader("corruptset.scores.results_page"), trim_blocks=True)
    template = environment.get_template("charts.html")
    return str(template.make_module({"look": look, "marker": marker}).lines(shown))  # type: ignore[attr-defined]


def test_lines_marks_and_intervals() -> None:
    text = drawn(chart([Point(0, 0), Point(5, 50, (25, 75)), Point(10, 100)]))
    assert 'd="M48.0 138.0L144.0 74.0L240.0 10.0"' in text
    assert re.findall(r'<use class="spot m0 d0" href="#marker-0" x="([\d.]+)" y="([\d.]+)"', text) == [
        ("48.0", "138.0"),
        ("144.0", "74.0"),
        ("240.0", "10.0"),
    ]
    assert re.findall(r'<path class="arm m0 d0" d="(.*?)"', text) == ["M144.0 106.0V42.0"]
    many = drawn(chart([Point(level, level) for level in range(31)]))
    assert len(re.findall(r'class="line m0 d0" d="(.*?)"', many)[0].split("L")) == 31
    assert many.count("<use") == 7


def test_axes() -> None:
    shown = chart([Point(level, level) for level in range(31)])
    assert list(shown.x_texts.values()) == ["0", "10", "20", "30"]
    assert [(y, text) for y, text in shown.y_ticks][:2] == [("138.0", "0"), ("106.0", "25")]
    sizes = chart([Point(0.08, 1), Point(1.08, 2)], x_texts={0.0: "12", 1.0: "16"})
    assert [(sizes.x(x), text) for x, text in sizes.x_texts.items()] == [("48.0", "12"), ("240.0", "16")]
    assert sizes.summary == "fog: error, % against severity. net-0 begins at 1.0 at 12 and rises to 2.0 at 16."


def test_what_is_said_of_many_models() -> None:
    said = chart(*([Point(0, 1), Point(1, 1)] for _ in range(8))).summary
    assert said.endswith("net-5 begins at 1.0 at 0 and stays at 1.0 at 1; 2 more models in the table.")
    spots = [Spot(n, f"net-{n}", n, n, None, None, "I") for n in range(7)]
    assert quadrant_chart("t", "x", "y", spots, (3, 3)).summary.endswith("net-5 at 5.00 and 5.0, quadrant I; 1 more model in the table.")


def test_models_with_one_score_have_a_chart() -> None:
    spot = Spot(0, "net", 3, 90, None, None, "I")
    shown = quadrant_chart("t", "x", "y", [spot], (3, 90))
    assert shown.middle == (3, 90)
    assert (shown.x(3), shown.y(90)) == ("197.0", "136.0")
    assert 'd="M144.0 131.6"' in drawn(chart([Point(0, 5)]))


def test_models_look_different() -> None:
    looks = [(look(n), marker(n)) for n in range(32)]
    assert len(set(looks)) == 32
    assert len({marker for _, marker in looks[:8]}) == 8
    for name in {name for classes, _ in looks for name in classes.split()}:
        assert f".{name} {{" in STYLE or f".{name}," in STYLE or name == "d0"


@pytest.mark.parametrize("models", [1, 2, 9, 50])
def test_models_stand_beside_each_other(models: int) -> None:
    places = apart(models)
    assert all(a < b for a, b in pairwise(places))
    assert max(map(abs, places)) < 0.5
    assert sum(places) == pytest.approx(0, abs=1e-9)


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted([luminance(a), luminance(b)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def mixed(colour: str, paper: str, share: float) -> str:
    digits = [
        [int(one[i : i + 2], 16) for i in (1, 3, 5)]
        for one in (colour, paper if len(paper) == 7 else "#" + "".join(2 * c for c in paper[1:]))
    ]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in zip(*digits, strict=True))


@pytest.mark.parametrize("dark", [False, True])
def test_colours_can_be_told_from_the_paper_and_texts_from_shades(dark: bool) -> None:
    found: dict[str, str] = {}
    for scheme in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[::1]:
        is_dark = scheme.count("--paper: #15171a") or "--m0: #6cb8f0" in scheme
        if bool(is_dark) == dark:
            found |= dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{3,6})", scheme))
    assert {"paper", "ink", "m0", "m7", "up", "down"} <= found.keys()
    for n in range(8):
        assert contrast(found[f"m{n}"], found["paper"]) >= 3
    for side, steps in (("up", 3), ("down", 3), ("heat", 6)):
        shares = [int(share) for share in re.findall(rf"var\(--{side}\) (\d+)%", STYLE)]
        assert len(shares) == steps
        for share in shares:
            assert contrast(mixed(found[side], found["paper"], share / 100), found["ink"]) >= 4.5
