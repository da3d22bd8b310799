"""Every plot that models have scores for, and none other; the same bytes for the same scores."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import made_scores
import numpy as np
import pytest
from PIL import Image

from corruptset.scores.comparison import plots
from corruptset.scores.comparison.entries import Entry, gather
from corruptset.scores.comparison.plot_style import COLOURS, MARKERS, look, short, styled, write
from corruptset.scores.records import Scores

NAMES = [
    "accuracy_and_cv", "degradation_accuracy", "degradation_probability", "degradation_rank", "error_and_severity", "fragile", "maude",
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


def points(axes) -> list[tuple[float, float]]:
    """Return where single markers of a plot stand."""
    return [tuple(line.get_xydata()[0]) for line in axes.get_lines() if len(line.get_xydata()) == 1]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plots")
    plots.write_plots(entries(*map(made_scores.small, range(2))), folder)
    return folder


def test_every_plot_is_an_svg_and_a_png(drawn):
    assert sorted(p.name for p in drawn.iterdir()) == sorted(f"{name}.{kind}" for name in NAMES for kind in ("svg", "png"))
    for name in NAMES:
        root = xml.etree.ElementTree.parse(drawn / f"{name}.svg").getroot()
        assert root.tag.endswith("svg")
        with Image.open(drawn / f"{name}.png") as picture:
            assert min(picture.size) > 200
            assert np.array(picture.convert("L")).std() > 5


@pytest.mark.ci
def test_two_processes_write_the_same_bytes(drawn, tmp_path):
    code = DRAW.format(tests=str(Path(made_scores.__file__).parent), folder=str(tmp_path))
    subprocess.run([sys.executable, "-c", code], check=True)
    digests = [{p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()} for folder in (drawn, tmp_path)]
    assert digests[0] == digests[1]
    for file in tmp_path.glob("*.svg"):
        assert b"<dc:date>" not in file.read_bytes()


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
def test_only_plots_of_scores_that_are_there(scores, names, tmp_path, monkeypatch):
    whole = made_scores.full()
    written = []
    monkeypatch.setattr(plots, "write", lambda drawn, folder, name: written.append(name) or [])
    plots.write_plots(entries(made_scores.bare(**{name: whole[name] for name in scores})), tmp_path)
    assert sorted(written) == names


def test_accuracy_and_cv_are_where_they_should_be():
    made = [made_scores.full(i) for i in range(3)]
    wanted = [(one["two_factor"]["cv_percent"], 100 * one["two_factor"]["mean_accuracy"]) for one in made]
    with styled():
        (axes,) = plots.accuracy_and_cv(entries(*made)).get_axes()
    np.testing.assert_allclose(points(axes), [*wanted, np.mean(wanted, axis=0)])
    assert [text.get_text() for text in axes.texts] == ["I", "II", "III", "IV"]
    place = {text.get_text(): text.get_position() for text in axes.texts}
    assert place["I"][0] == place["III"][0] < place["II"][0] == place["IV"][0]
    assert place["I"][1] == place["II"][1] > place["III"][1] == place["IV"][1]


def test_a_profile_has_a_panel_and_each_model_a_line():
    made = [made_scores.full(i) for i in range(2)]
    del made[1]["profiles"]["posterize"]
    with styled():
        drawn = plots.profiles(entries(*made), "accuracy")
    panels = {
        axes.get_title(loc="left"): [line for line in axes.get_lines() if len(line.get_xdata())]
        for axes in drawn.get_axes()
        if axes.get_visible()
    }
    assert list(panels) == [*made_scores.DEGRADATIONS, "mean"]
    assert [len(lines) for lines in panels.values()] == [2, 2, 2, 2, 1, 2]
    np.testing.assert_allclose(panels["white_fog"][1].get_ydata(), 100 * np.array(made[1]["profiles"]["white_fog"]["accuracy"]))


def test_the_error_of_severity_0_is_the_clean_one():
    made = made_scores.full()
    with styled():
        drawn = plots.error_and_severity(entries(made))
    panel = next(axes for axes in drawn.get_axes() if axes.get_title(loc="left") == "fog")
    errors = [100 * (1 - made["sets"][name]["accuracy"]) for name in ["clean", *(f"fog/{s}" for s in range(1, 6))]]
    np.testing.assert_allclose(panel.get_lines()[0].get_xydata(), np.stack([range(6), errors], axis=1))
    del made["sets"]["fog/3"]
    with styled():
        drawn = plots.error_and_severity(entries(made))
    titles = [axes.get_title(loc="left") for axes in drawn.get_axes() if axes.get_visible()]
    assert "fog" not in titles
    assert "mean of fifteen" not in titles


def test_bars_of_maude_go_up_to_the_lowest():
    made = [made_scores.full(i) for i in (1, 0, 2)]
    with styled():
        (axes,) = plots.maude(entries(*made)).get_axes()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["net-2", "net-1", "net-0"]
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, sorted((100 * one["maude"] for one in made), reverse=True))


def test_order_effects_have_opposite_signs_across_the_diagonal():
    made = made_scores.full()
    with styled():
        axes = plots.order_effects(entries(made)).get_axes()[0]
    matrix = axes.get_images()[0].get_array().filled(np.nan)
    stages = [label.get_text() for label in axes.get_yticklabels()]
    assert sorted(stages) == sorted(made_scores.STAGES)
    effect = made["two_factor"]["order_effects"][0]
    first, second = (stages.index(stage) for stage in effect["first"].split("+"))
    assert matrix[first, second] == pytest.approx(100 * effect["difference"]) == -matrix[second, first]
    assert np.isnan(np.diag(matrix)).all()


def test_each_model_has_a_look_of_its_own():
    assert len(set(COLOURS)) == len(MARKERS) == 8
    looks = [(style.color, style.marker, str(style.linestyle)) for style in map(look, range(32))]
    assert len(set(looks)) == 32
    assert len({color for color, _, _ in looks[:8]}) == len({marker for _, marker, _ in looks[:8]}) == 8


def test_long_names_keep_both_ends():
    name = "a_very_long_name_of_a_network.augmented_in1k_seed7"
    assert short(name).startswith("a_very_long")
    assert short(name).endswith("in1k_seed7")
    assert len(short(name)) == 32
    assert short("a\nb") == "a b"


def test_names_that_matplotlib_would_take_for_formulas(tmp_path):
    made = [made_scores.small(0, "$x^2 & _hidden"), made_scores.small(1, "_$\\frac{1}{$")]
    with styled():
        drawn = plots.accuracy_and_cv(entries(*made))
        assert len(write(drawn, tmp_path, "cv")) == 2
    assert [text.get_text()[:6] for text in drawn.legends[0].get_texts()] == ["$x^2 &", " _$\\fr", "refere"]


def test_a_user_s_own_settings_change_nothing(tmp_path):
    import matplotlib

    made = entries(made_scores.small())
    written = []
    for settings in ({}, {"font.size": 30, "axes.grid": False, "lines.linewidth": 9}):
        with matplotlib.rc_context(settings), styled():
            written.append(write(plots.maude(made), tmp_path, "maude")[0].read_bytes())
    assert written[0] == written[1]
