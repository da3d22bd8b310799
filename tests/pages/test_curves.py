"""Curves: where points lie, what is said of them, and values that are missing."""

from __future__ import annotations

import re

import pytest
from html_tree import read_html

from corruptset.pages.curves import HEIGHT, WIDTH, Curve, Mark, axis_ticks


def points(svg: str) -> list[list[tuple[float, float]]]:
    lines = re.findall(r'<polyline class="line" points="([^"]*)"', svg)
    return [
        [(float(x), float(y)) for x, y in (pair.split() for pair in re.findall(r"[\d.]+ [\d.]+", line))]
        for line in lines
    ]


def test_points_are_in_proportion() -> None:
    curve = Curve("SSIM", "severity", (1, 2, 3), (1.0, 0.5, 0.0), (None, None, None), (0.0, 1.0))
    (line,) = points(curve.svg())
    (x1, top), (x2, middle), (x3, bottom) = line
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert top < middle < bottom
    assert middle == pytest.approx((top + bottom) / 2, abs=0.2)


def test_a_gap_cuts_the_line() -> None:
    curve = Curve("PSNR", "level", (1, 2, 3, 4), (30.0, None, 20.0, 10.0), (1.0, None, 1.0, 1.0))
    assert [len(line) for line in points(curve.svg())] == [1, 2]
    assert "NaN" not in curve.svg()
    assert "None" not in curve.svg()


def test_bands_are_as_wide_as_the_spread() -> None:
    curve = Curve("SSIM", "severity", (1, 2), (0.5, 0.5), (0.25, 0.25), (0.0, 1.0))
    heights = sorted(
        {float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", re.findall(r'class="band" d="([^"]*)"', curve.svg())[0])}
    )
    (line,) = points(curve.svg())
    assert heights[0] < line[0][1] < heights[1]
    full = Curve("SSIM", "severity", (1, 2), (0.0, 1.0), (0.0, 0.0), (0.0, 1.0))
    ((_, low), (_, high)) = points(full.svg())[0]
    assert heights[1] - heights[0] == pytest.approx((low - high) / 2, abs=0.2)


def test_everything_lies_inside_and_marks_are_named() -> None:
    curve = Curve(
        "MS-SSIM", "severity", range(1, 6), (0.95, 0.8, 0.7, 0.6, 0.4), (0.2,) * 5, (0.0, 1.0), (Mark(0.9, "aim at 1"),)
    )
    svg = read_html(str(curve.svg()).encode()).one("svg")
    assert svg.attributes["role"] == "img"
    assert "0.95 at 1, falls to 0.4 at 5; a line at 0.9, aim at 1" in svg.attributes["aria-label"]
    numbers = [float(n) for path in re.findall(r' d="([^"]*)"', str(curve.svg())) for n in re.findall(r"[\d.]+", path)]
    assert 0 <= min(numbers) <= max(numbers) <= max(WIDTH, HEIGHT)


def test_no_values_and_one_value() -> None:
    assert "no values" in Curve("PSNR", "severity", (1, 2), (None, None), (None, None)).summary()
    Curve("PSNR", "severity", (1,), (5.0,), (None,)).svg()
    assert "stays at" in Curve("PSNR", "severity", (1, 2), (5.0, 5.0), (None, None)).summary()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 47.3), (-3, 12), (0.001, 0.002), (0, 100), (99.5, 100)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    ticks = axis_ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    assert all(len(f"{tick:.4g}") <= 7 for tick in ticks)


def test_text_of_a_chart_is_escaped() -> None:
    svg = str(Curve('"><x>', "<y>", (1, 2), (1.0, 2.0), (None, None)).svg())
    assert "<x>" not in svg
    assert "<y>" not in svg
