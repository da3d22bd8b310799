"""Figures lie where their tables say."""

from __future__ import annotations

import re

import pytest
from html_tree import Node
from result_pages import section, tables

from corruptset.scores.records import Scores
from corruptset.scores.results_page.page_tables import page_table
from corruptset.scores.tables import Column, Table


def test_lines_of_charts_lie_where_their_table_says(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    checked = 0
    for name, caption, across in [
        ("severity", "Error by corruption and severity", "severity"),
        ("profiles", "Profiles: accuracy", "level"),
    ]:
        _, rows = tables(section(page, name))[caption]
        for chart in list(
            section(page, name).one("div", class_="charts").all("figure")
            if name == "severity"
            else charts_of_accuracy(page)
        ):
            title = chart.one("figcaption").text
            wanted = [row for row in rows if row[0] == title]
            lines = [path for path in chart.all("path") if path.attributes["class"].startswith("line ")]
            assert len(lines) == len(scores)
            assert len({line.attributes["class"] for line in lines}) == len(scores)
            for number, line in enumerate(lines):
                heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line.attributes["d"])]
                drawn = [100 * (138 - y) / 128 for y in heights]
                assert drawn == pytest.approx([float(row[2 + number]) for row in wanted], abs=0.06)
                checked += len(drawn)
            label = chart.one("svg").attributes["aria-label"]
            assert f"{title}: " in label
            told = re.search(
                rf"against {across}. net-a begins at ([\d.]+) at 0 and \w+ to ([\d.]+) at (\d+); net-b", label
            )
            assert told is not None
            assert [float(told[1]), float(told[2])] == pytest.approx(
                [float(wanted[0][2]), float(wanted[-1][2])], abs=0.06
            )
            assert told[3] == wanted[-1][1]
    assert checked == 3 * (20 * 6 + 6 * 31)


def charts_of_accuracy(page: Node) -> list[Node]:
    return list(
        next(iter(node for node in section(page, "profiles").all("div") if node.attributes["class"] == "charts")).all(
            "figure"
        )
    )


def test_every_chart_has_its_section_with_a_table_and_a_legend(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    sections = {node.attributes["id"]: node for node in page.all("section")}
    names = "heat summary maude severity profiles two-factor orders fragile style sets panels failures notes made"
    assert list(sections) == names.split()
    for name in ("severity", "profiles", "two-factor", "fragile"):
        assert list(sections[name].all("figure"))
        assert [item.text for item in sections[name].one("ul", class_="legend").all("li")] == [
            one.model for one in scores
        ]
        assert list(sections[name].all("table"))
    bars = tables(sections["maude"])[
        "mAUDE, the lowest first: the upright line in a bar is the clean error, the line across its end the interval"
    ]
    assert [row[0] for row in bars[1]] == [one.model for one in sorted(scores, key=lambda one: one.maude or 0)]
    lengths = [float(node.attributes["width"]) for node in sections["maude"].all("rect")]
    assert lengths == sorted(lengths)
    most = max(one.intervals["maude"][1] for one in scores)  # type: ignore[index]
    assert lengths == pytest.approx(sorted(1000 * (one.maude or 0) / most for one in scores), abs=0.1)


def test_the_heat_map_has_the_mean_error_of_every_model_and_corruption(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    (heat,) = [node for node in page.all("table") if node.attributes.get("class") == "orders heat"]
    names = [cell.text for cell in heat.one("thead").all("th")][1:]
    rows = list(heat.one("tbody").all("tr"))
    assert [row.one("th").text for row in rows] == [one.model for one in scores]
    for row, one in zip(rows, scores, strict=True):
        cells = dict(zip(names, row.all("td"), strict=True))
        error = 100 * (1 - sum(one.sets[f"fog/{severity}"].accuracy for severity in range(1, 6)) / 5)
        assert cells["fog"].text == f"{error:.0f}"
        assert cells["fog"].attributes["class"] == f"heat-{int(error / 100 * 6)}"
        levels = one.profiles["fade_black"]
        fallen = [value for level, value in zip(levels.levels, levels.accuracy, strict=True) if level > 0]
        assert cells["fade_black"].text == f"{100 - 100 * sum(fallen) / len(fallen):.0f}"


def test_a_column_of_dashes_is_left_out() -> None:
    columns = [Column("model", "text"), Column("mCE"), Column("CV")]
    shown = page_table(Table("summary", "Summary", columns, [["a", None, 0.5], ["b", None, None]]))
    assert [column.title for column in shown.columns] == ["model", "CV"]
    assert [[text for text, _ in row] for row in shown.rows] == [["a", "50.00"], ["b", "-"]]


def test_the_points_of_two_factors_lie_in_their_quadrants(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    chart = section(page, "two-factor").one("figure")
    upright, level = [path.attributes["d"] for path in chart.all("path") if path.attributes["class"] == "split"]
    x, y = re.findall(r"[\d.]+", upright)[0], re.findall(r"[\d.]+", level)[1]
    rows = tables(section(page, "two-factor"))["Mean accuracy and its coefficient of variation over two-factor sets"][1]
    said = {row[0]: row[-1] for row in rows}
    points = [(float(use.attributes["x"]), float(use.attributes["y"])) for use in chart.all("use")]
    for one, (across, down) in zip(scores, points, strict=True):
        side = {(True, True): "I", (False, True): "II", (True, False): "III", (False, False): "IV"}
        assert side[across <= float(x), down <= float(y)] == said[one.model]
        assert f"{one.model} at {one.two_factor.cv_percent:.2f} and" in chart.one("svg").attributes["aria-label"]  # type: ignore[union-attr]


def test_the_matrix_of_orders_is_the_list_of_effects(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    for one in scores:
        stages, rows = tables(section(page, "orders"))[one.model]
        cells = {(row[0], stage): cell for row in rows for stage, cell in zip(stages[1:], row[1:], strict=True)}
        assert one.two_factor is not None
        for effect in one.two_factor.order_effects:
            first, second = effect.first.split("+")
            assert float(cells[first, second]) == pytest.approx(100 * effect.difference, abs=0.006)
            assert float(cells[second, first]) == pytest.approx(-100 * effect.difference, abs=0.006)
