"""Every plot that models have scores for, and none other; the same bytes for the same scores."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import xml.etree.ElementTree
from itertools import pairwise
from pathlib import Path

import made_scores
import numpy as np
import pytest
from PIL import Image

from corruptset.pages.charts import Shape
from corruptset.pages.drawing import COLOURS, Figure, png
from corruptset.scores.comparison import figures
from corruptset.scores.comparison.entries import Entry, gather
from corruptset.scores.comparison.plots import figures as plots_of
from corruptset.scores.comparison.plots import short, write_plots
from corruptset.scores.records import Scores

NAMES = [
    "accuracy_and_cv", "degradation_accuracy", "degradation_probability", "degradation_rank", "error_and_severity",
    "fragile", "maude",
    "order_effects",
]  # fmt: skip
DRAW = """
import sys
sys.path.insert(0, {tests!r})
import made_scores
from pathlib import Path
from corruptset.scores.comparison.entries import gather
from corruptset.scores.comparison.plots import write_plots
from corruptset.scores.records import Scores
write_plots(gather([Scores.model_validate(made_scores.small(i)) for i in range(2)]), Path({folder!r}))
"""


def entries(*compared) -> list[Entry]:
    return gather([Scores.model_validate(one) for one in compared])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plots")
    write_plots(entries(*map(made_scores.small, range(2))), folder)
    return folder


def test_every_plot_is_an_svg_and_a_png(drawn):
    assert sorted(p.name for p in drawn.iterdir()) == sorted(
        f"{name}.{kind}" for name in NAMES for kind in ("svg", "png")
    )
    for name in NAMES:
        root = xml.etree.ElementTree.parse(drawn / f"{name}.svg").getroot()
        assert root.tag.endswith("svg")
        with Image.open(drawn / f"{name}.png") as picture:
            assert min(picture.size) > 150
            assert np.array(picture.convert("L")).std() > 5


@pytest.mark.ci
def test_two_processes_write_the_same_bytes(drawn, tmp_path):
    code = DRAW.format(tests=str(Path(made_scores.__file__).parent), folder=str(tmp_path))
    subprocess.run([sys.executable, "-c", code], check=True)
    digests = [
        {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()} for folder in (drawn, tmp_path)
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("scores", "names"),
    [
        (["two_factor"], ["accuracy_and_cv", "order_effects"]),
        (["profiles", "mean_profile"], ["degradation_accuracy", "degradation_probability", "degradation_rank"]),
        (["sets"], ["error_and_severity"]),
        (["maude"], ["maude"]),
        (["fragile"], ["fragile"]),
        ([], []),
    ],
)
def test_only_plots_of_scores_that_are_there(scores, names):
    whole = made_scores.full()
    assert sorted(plots_of(entries(made_scores.bare(**{name: whole[name] for name in scores})))) == names


def test_accuracy_and_cv_are_where_they_should_be():
    made = [made_scores.full(i) for i in range(3)]
    wanted = [(one["two_factor"]["cv_percent"], 100 * one["two_factor"]["mean_accuracy"]) for one in made]
    (chart,) = figures.quadrant_charts(entries(*made))
    np.testing.assert_allclose([line.points[0][:2] for line in chart.lines], wanted)
    np.testing.assert_allclose(chart.middle, np.mean(wanted, axis=0))
    place = {shape.text: shape.points[0] for shape in chart.shapes() if shape.kind.startswith("corner")}
    assert list(place) == ["I", "II", "III", "IV"]
    assert place["I"][0] == place["III"][0] < place["II"][0] == place["IV"][0]
    assert place["I"][1] == place["II"][1] < place["III"][1] == place["IV"][1]


def test_a_profile_has_a_chart_and_each_model_a_line():
    made = [made_scores.full(i) for i in range(2)]
    del made[1]["profiles"]["posterize"]
    charts = {chart.title: chart.lines for chart in figures.profile_charts(entries(*made), "accuracy")}
    assert list(charts) == [*made_scores.DEGRADATIONS, "mean"]
    assert [len(lines) for lines in charts.values()] == [2, 2, 2, 2, 1, 2]
    heights = [point.y for point in charts["white_fog"][1].points]
    np.testing.assert_allclose(heights, 100 * np.array(made[1]["profiles"]["white_fog"]["accuracy"]))


def test_the_error_of_severity_0_is_the_clean_one():
    made = made_scores.full()
    charts = {chart.title: chart for chart in figures.severity_charts(entries(made))}
    errors = [100 * (1 - made["sets"][name]["accuracy"]) for name in ["clean", *(f"fog/{s}" for s in range(1, 6))]]
    np.testing.assert_allclose(
        [point[:2] for point in charts["fog"].lines[0].points], np.stack([range(6), errors], axis=1)
    )
    del made["sets"]["fog/3"]
    titles = {chart.title for chart in figures.severity_charts(entries(made))}
    assert not {"fog", "mean of the fifteen"} & titles


def test_bars_of_maude_go_from_the_lowest_down():
    made = [made_scores.full(i) for i in (1, 0, 2)]
    bars = [shape for shape in plots_of(entries(*made))["maude"].shapes if shape.kind == "bar"]
    assert [bar.model for bar in bars] == [1, 0, 2]
    widths = [bar.points[1][0] - bar.points[0][0] for bar in bars]
    wanted = sorted(one["maude"] for one in made)
    np.testing.assert_allclose(np.array(widths) / widths[0], np.array(wanted) / wanted[0])


def test_order_effects_have_opposite_signs_across_the_diagonal():
    made = made_scores.full()
    (matrix,) = figures.order_matrices(entries(made))
    assert sorted(matrix.names) == sorted(made_scores.STAGES)
    effect = made["two_factor"]["order_effects"][0]
    first, second = (matrix.names.index(stage) for stage in effect["first"].split("+"))
    assert float(matrix.rows[first][second][0]) == pytest.approx(100 * effect["difference"], abs=0.006)
    assert float(matrix.rows[second][first][0]) == pytest.approx(-100 * effect["difference"], abs=0.006)
    assert {matrix.rows[n][n] for n in range(4)} == {("", "")}


@pytest.mark.parametrize("models", [1, 2, 9, 50])
def test_models_stand_beside_each_other(models: int) -> None:
    places = figures.apart(models)
    assert all(a < b for a, b in pairwise(places))
    assert max(map(abs, places)) < 0.5
    assert sum(places) == pytest.approx(0, abs=1e-9)


def test_a_png_has_the_colours_of_its_shapes():
    shapes = [
        Shape("line", ((10, 10), (90, 10)), 0),
        Shape("line", ((10, 30), (90, 30)), 1),
        Shape("spot", ((50, 60),), 2),
        Shape("up-3", ((10, 70), (40, 70), (40, 90), (10, 90))),
        Shape("turned", ((60, 95),), text="x"),
    ]
    with Image.open(io.BytesIO(png(Figure(100, 100, shapes)))) as picture:
        assert picture.size == (200, 200)
        pixels = np.array(picture.convert("RGB"))
    colours = [tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in (*COLOURS[:3], "#add2e6")]
    assert (pixels[20, 30:170] == colours[0]).all()
    dashed = (pixels[60, 30:170] == colours[1]).all(axis=1)
    assert 0.5 < dashed.mean() < 0.9
    assert tuple(pixels[121, 100]) == colours[2]
    assert tuple(pixels[160, 50]) == colours[3]
    assert (pixels[100:190, 104:124] < 128).any()


def test_a_large_figure_has_fewer_pixels_a_unit():
    with Image.open(io.BytesIO(png(Figure(8000, 4000, [Shape("name", ((10, 10),), text="x")])))) as picture:
        assert picture.size[0] == pytest.approx(2 * picture.size[1], abs=2)
        assert picture.size[0] * picture.size[1] <= 16_100_000


def test_long_names_keep_both_ends():
    name = "a_very_long_name_of_a_network.augmented_in1k_seed7"
    assert short(name).startswith("a_very_long")
    assert short(name).endswith("in1k_seed7")
    assert len(short(name)) == 32
    assert short("a\nb") == "a b"


def test_names_of_strangers_are_text(tmp_path):
    made = [made_scores.small(0, "<script>alert(1)</script>"), made_scores.small(1, "a\u202e & \u0007é")]
    for file in write_plots(entries(*made), tmp_path):
        if file.suffix == ".svg":
            text = "".join(xml.etree.ElementTree.parse(file).getroot().itertext())
            assert not {"\u202e", "\u0007"} & set(text)
            assert "<script>alert(1)</script>" in text or file.stem not in ("maude", "fragile")
