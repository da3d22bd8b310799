"""Test charts: positions of lines, styles of models, descriptions, and colours with enough contrast."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from PIL.ImageColor import getrgb

from corruptset.pages.charts import (
    Line,
    Mark,
    Point,
    axis_ticks,
    line_chart,
    metric_chart,
    quadrant_chart,
)
from corruptset.pages.svg import MARKERS, model_classes, model_style
from corruptset.pages.svg import STYLE as FILE_STYLE

STYLE = "".join(
    resources.files(f"corruptset.{package}").joinpath(f"templates/{name}.css").read_text("utf-8")
    for package, name in (("pages", "page"), ("scores.results_page", "own"))
)


def chart(*models, x_texts=None):
    lines = [Line(n, f"net-{n}", points) for n, points in enumerate(models)]
    return line_chart("fog", "severity", "error, %", lines, (0, 100), x_texts)


def test_charts_have_lines_marks_intervals_and_axes():
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


def test_metric_chart_has_band_marks_and_gaps():
    values, spread = [1.0, None, 0.5, 0.0], [0.25, None, 0.25, None]
    metric = metric_chart("MS-SSIM", "severity", [1, 2, 3, 4], values, spread, (0, 1), [Mark(0.9, "aim at 1")])
    text = metric.svg()
    assert re.findall(r'class="line" d="(.*?)"', text) == ["M48.0 10.0", "M176.0 74.0L240.0 138.0"]
    # The band ends at the end of the axis.
    assert re.findall(r'class="band" d="(.*?)"', text) == [
        "M48.0 10.0L48.0 42.0", "M176.0 42.0L240.0 138.0L240.0 138.0L176.0 106.0",
    ]  # fmt: skip
    assert re.findall(r'class="mark" d="(.*?)"', text) == ["M38.0 22.8L250.0 22.8"]
    assert text.count('class="dot"') == 3
    assert metric.summary == "MS-SSIM against severity begins at 1 at 1 and falls to 0 at 4; a line at 0.9, aim at 1."
    spark = metric.sparkline()
    assert re.findall(r'<text class="(\w+)" x="[\d.]+" y="[\d.]+">(\d)<', spark) == [
        ("y", "0"), ("y", "1"), ("x", "1"), ("x", "4"),
    ]  # fmt: skip
    assert re.findall(r'<path class="(\w+)"', spark) == "rule rule band line dot band line dot dot".split()
    levels = metric_chart("SSIM", "level", range(1, 31), [0.5] * 30, [0.0] * 30, (0, 1))
    assert (list(levels.x_texts), levels.svg().count('class="dot"')) == ([10, 20, 30], 0)
    assert "stays at 0.5 at 30" in levels.summary
    fractions = metric_chart("SSIM", "severity", [n / 2 for n in range(2, 11)], [0.5] * 9, [None] * 9, (0, 1))
    assert list(fractions.x_texts) == [1, 2, 3, 4, 5]
    assert "has no values" in metric_chart("SSIM", "level", [1, 2], [None, None], [None, None], (0, 1)).summary


def test_ticks_are_few_round_and_inside():
    for low, high in ((0, 1), (0, 47.3), (-3, 12), (0.001, 0.002), (0, 100), (99.5, 100)):
        ticks = axis_ticks(low, high)
        assert 2 <= len(ticks) <= 6
        assert all(low - 1e-9 <= tick <= high + 1e-9 and len(f"{tick:.4g}") <= 7 for tick in ticks)


def test_summaries_describe_many_models_and_quadrants():
    message = chart(*([Point(0, 1), Point(1, 1)] for _ in range(8))).summary
    assert message.endswith("net-5 begins at 1 at 0 and stays at 1 at 1; 2 more models in the table.")
    lines = [Line(n, f"net-{n}", [Point(n, n)]) for n in range(7)]
    many = quadrant_chart("t", "x", "y", lines, (3, 3), ["I"] * 7)
    assert many.summary.endswith("net-5 at 5.00 and 5.0, quadrant I; 1 more model in the table.")
    alone = quadrant_chart("t", "x", "y", [Line(0, "net", [Point(3, 90, (89, 91), (2, 4))])], (3, 90), ["I"])
    assert (alone.middle, alone.at(3, 90)) == ((3, 90), pytest.approx((197, 136)))
    corners = {shape.text: shape.points[0] for shape in alone.shapes() if shape.kind.startswith("corner")}
    assert corners == {"I": (48, 24), "II": (346, 24), "III": (48, 257), "IV": (346, 257)}
    arms = [shape.points for shape in alone.shapes() if shape.kind == "arm"]
    assert arms == [[alone.at(3, 89), alone.at(3, 91)], [alone.at(2, 90), alone.at(4, 90)]]


def test_models_look_different():
    styles = [model_style(n) for n in range(32)]
    assert len(set(styles)) == 32
    assert len({marker for _, marker, _ in styles[:8]}) == len(MARKERS) == 8
    for name in {name for n in range(32) for name in model_classes(n).split()} - {"d0"}:
        assert re.search(rf"\.{name}[ ,]", STYLE), name


def luminance(colour):
    """Return the relative luminance of a colour (WCAG 2.2)."""
    parts = [part / 255 for part in colour]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def blend_colours(colour, paper, share):
    return tuple(round(share * a + (1 - share) * b) for a, b in zip(colour, paper, strict=True))


def test_colours_contrast_with_paper_and_text_with_shades():
    schemes = {False: {}, True: {}}
    for scheme in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL):
        is_dark = "--paper: #15171a" in scheme or "--m0: #6cb8f0" in scheme
        schemes[is_dark] |= {
            name: getrgb(text) for name, text in re.findall(r"--([a-z0-9]+): (#[0-9a-f]{3,6})", scheme)
        }
    for is_dark, result in schemes.items():
        paper = result["paper"]
        models = [result[f"m{n}"] for n in range(8)]
        assert all(contrast(colour, paper) >= 3 for colour in models)
        if not is_dark:  # SVG files use the same colours.
            assert [getrgb(c) for c in re.findall(r"\.m\d { color: (#\w+)", FILE_STYLE)] == models
            assert [getrgb(c) for c in re.findall(r"\.(?:up-1|down-3) { fill: (#\w+)", FILE_STYLE)] == [
                blend_colours(result["up"], paper, 0.1),
                blend_colours(result["down"], paper, 0.32),
            ]
