"""Charts: where lines lie, how models look, and what is said of them."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from corruptset.pages.charts import (
    Chart,
    Line,
    Mark,
    Point,
    axis_ticks,
    classes,
    line_chart,
    look,
    metric_chart,
    quadrant_chart,
)
from corruptset.pages.drawing import AREAS, COLOURS, MARKERS

STYLE = resources.files("corruptset.pages").joinpath("templates/page.css").read_text("utf-8") + resources.files(
    "corruptset.scores.results_page"
).joinpath("templates/own.css").read_text("utf-8")


def chart(*models: list[Point], x_texts: dict[float, str] | None = None) -> Chart:
    lines = [Line(n, f"net-{n}", points) for n, points in enumerate(models)]
    return line_chart("fog", "severity", "error, %", lines, (0, 100), x_texts)


def test_lines_marks_intervals_and_axes() -> None:
    text = chart([Point(0, 0), Point(5, 50, (25, 75)), Point(10, 100)]).svg()
    assert 'd="M48.0 138.0L144.0 74.0L240.0 10.0"' in text
    spots = re.findall(r'<use class="spot m0 d0" x="([\d.]+)" y="([\d.]+)" href="#marker-0"', text)
    assert spots == [("48.0", "138.0"), ("144.0", "74.0"), ("240.0", "10.0")]
    assert re.findall(r'<path class="arm m0 d0" d="(.*?)"', text) == ["M144.0 106.0L144.0 42.0"]
    many = chart([Point(level, level) for level in range(31)])
    assert len(re.findall(r'class="line m0 d0" d="(.*?)"', many.svg())[0].split("L")) == 31
    assert many.svg().count("<use") == 7
    assert list(many.x_texts.values()) == ["0", "10", "20", "30"]
    ruled = re.findall(r'<text class="y" x="33.0" y="([\d.]+)">(\d+)<', many.svg())
    assert ruled[:2] == [("142.0", "0"), ("110.0", "25")]
    sizes = chart([Point(0.08, 1), Point(1.08, 2)], x_texts={0.0: "12", 1.0: "16"})
    assert [(sizes.at(x, 0)[0], text) for x, text in sizes.x_texts.items()] == [(48, "12"), (240, "16")]
    assert sizes.summary == "fog: error, % against severity. net-0 begins at 1 at 12 and rises to 2 at 16."
    assert 'd="M144.0 131.6"' in chart([Point(0, 5)]).svg()
    hostile = line_chart("t", '"><x>', "<y>", [Line(0, "<z>", [Point(0, 1)])], (0, 1)).svg()
    assert not {"<x>", "<y>", "<z>"} & set(re.findall("<[xyz]>", hostile))


def test_a_metric_has_a_band_marks_and_gaps() -> None:
    values, spread = [1.0, None, 0.5, 0.0], [0.25, None, 0.25, None]
    metric = metric_chart("MS-SSIM", "severity", [1, 2, 3, 4], values, spread, (0, 1), [Mark(0.9, "aim at 1")])
    text = metric.svg()
    assert re.findall(r'class="line" d="(.*?)"', text) == ["M48.0 10.0", "M176.0 74.0L240.0 138.0"]
    # the band ends with the axis
    assert re.findall(r'class="band" d="(.*?)"', text) == [
        "M48.0 10.0L48.0 42.0", "M176.0 42.0L240.0 138.0L240.0 138.0L176.0 106.0",
    ]  # fmt: skip
    assert re.findall(r'class="mark" d="(.*?)"', text) == ["M38.0 22.8L250.0 22.8"]
    assert text.count('class="dot"') == 3
    assert metric.summary == "MS-SSIM against severity begins at 1 at 1 and falls to 0 at 4; a line at 0.9, aim at 1."
    assert re.findall(r'class="(\w+)"', metric.spark()) == [
        "spark",
        "band",
        "line",
        "dot",
        "band",
        "line",
        "dot",
        "dot",
    ]
    levels = metric_chart("SSIM", "level", range(1, 31), [0.5] * 30, [0.0] * 30, (0, 1))
    assert (list(levels.x_texts), levels.svg().count('class="dot"')) == ([10, 20, 30], 0)
    assert "stays at 0.5 at 30" in levels.summary
    fractions = metric_chart("SSIM", "severity", [n / 2 for n in range(2, 11)], [0.5] * 9, [None] * 9, (0, 1))
    assert list(fractions.x_texts) == [1, 2, 3, 4, 5]
    assert "has no values" in metric_chart("SSIM", "level", [1, 2], [None, None], [None, None], (0, 1)).summary


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 47.3), (-3, 12), (0.001, 0.002), (0, 100), (99.5, 100)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    ticks = axis_ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 and len(f"{tick:.4g}") <= 7 for tick in ticks)


def test_what_is_said_of_many_models_and_of_quadrants() -> None:
    said = chart(*([Point(0, 1), Point(1, 1)] for _ in range(8))).summary
    assert said.endswith("net-5 begins at 1 at 0 and stays at 1 at 1; 2 more models in the table.")
    lines = [Line(n, f"net-{n}", [Point(n, n)]) for n in range(7)]
    many = quadrant_chart("t", "x", "y", lines, (3, 3), ["I"] * 7)
    assert many.summary.endswith("net-5 at 5.00 and 5.0, quadrant I; 1 more model in the table.")
    alone = quadrant_chart("t", "x", "y", [Line(0, "net", [Point(3, 90)])], (3, 90), ["I"])
    assert (alone.middle, alone.at(3, 90)) == ((3, 90), (197, 136))


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
