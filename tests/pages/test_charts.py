"""Charts: where lines lie, how models look, and what is said of them."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from corruptset.pages.charts import Chart, Line, Point, classes, line_chart, look, quadrant_chart
from corruptset.pages.drawing import AREAS, COLOURS, MARKERS

STYLE = resources.files("corruptset.pages").joinpath("templates/page.css").read_text("utf-8") + resources.files(
    "corruptset.scores.results_page"
).joinpath("templates/own.css").read_text("utf-8")


def chart(*models: list[Point], x_texts: dict[float, str] | None = None) -> Chart:
    lines = [Line(n, f"net-{n}", points) for n, points in enumerate(models)]
    return line_chart("fog", "severity", "error, %", lines, (0, 100), x_texts)


def test_lines_marks_and_intervals() -> None:
    text = chart([Point(0, 0), Point(5, 50, (25, 75)), Point(10, 100)]).svg()
    assert 'd="M48.0 138.0L144.0 74.0L240.0 10.0"' in text
    assert re.findall(r'<use class="spot m0 d0" x="([\d.]+)" y="([\d.]+)" href="#marker-0"', text) == [
        ("48.0", "138.0"),
        ("144.0", "74.0"),
        ("240.0", "10.0"),
    ]
    assert re.findall(r'<path class="arm m0 d0" d="(.*?)"', text) == ["M144.0 106.0L144.0 42.0"]
    many = chart([Point(level, level) for level in range(31)]).svg()
    assert len(re.findall(r'class="line m0 d0" d="(.*?)"', many)[0].split("L")) == 31
    assert many.count("<use") == 7


def test_axes() -> None:
    shown = chart([Point(level, level) for level in range(31)])
    assert list(shown.x_texts.values()) == ["0", "10", "20", "30"]
    assert re.findall(r'<text class="y" x="33.0" y="([\d.]+)">(\d+)<', shown.svg())[:2] == [
        ("142.0", "0"),
        ("110.0", "25"),
    ]
    sizes = chart([Point(0.08, 1), Point(1.08, 2)], x_texts={0.0: "12", 1.0: "16"})
    assert [(sizes.at(x, 0)[0], text) for x, text in sizes.x_texts.items()] == [(48, "12"), (240, "16")]
    assert sizes.summary == "fog: error, % against severity. net-0 begins at 1.0 at 12 and rises to 2.0 at 16."


def test_what_is_said_of_many_models() -> None:
    said = chart(*([Point(0, 1), Point(1, 1)] for _ in range(8))).summary
    assert said.endswith("net-5 begins at 1.0 at 0 and stays at 1.0 at 1; 2 more models in the table.")
    lines = [Line(n, f"net-{n}", [Point(n, n)]) for n in range(7)]
    assert quadrant_chart("t", "x", "y", lines, (3, 3), ["I"] * 7).summary.endswith(
        "net-5 at 5.00 and 5.0, quadrant I; 1 more model in the table."
    )


def test_models_with_one_score_have_a_chart() -> None:
    shown = quadrant_chart("t", "x", "y", [Line(0, "net", [Point(3, 90)])], (3, 90), ["I"])
    assert shown.middle == (3, 90)
    assert shown.at(3, 90) == (197, 136)
    assert 'd="M144.0 131.6"' in chart([Point(0, 5)]).svg()


def test_models_look_different() -> None:
    looks = [look(n) for n in range(32)]
    assert len(set(looks)) == 32
    assert len({marker for _, marker, _ in looks[:8]}) == len(MARKERS) == 8
    for name in {name for n in range(32) for name in classes(n).split()}:
        assert f".{name} {{" in STYLE or f".{name}," in STYLE or name == "d0"


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
    if not dark:
        assert tuple(found[f"m{n}"] for n in range(8)) == COLOURS
        for side, share in (("up", 0.1), ("down", 0.32)):
            assert AREAS[f"{side}-{1 if share < 0.3 else 3}"] == mixed(found[side], found["paper"], share)
    for n in range(8):
        assert contrast(found[f"m{n}"], found["paper"]) >= 3
    for side, steps in (("up", 3), ("down", 3), ("heat", 6)):
        shares = [int(share) for share in re.findall(rf"var\(--{side}\) (\d+)%", STYLE)]
        assert len(shares) == steps
        for share in shares:
            assert contrast(mixed(found[side], found["paper"], share / 100), found["ink"]) >= 4.5
