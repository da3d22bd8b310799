"""Test that all plots are drawn for which the models have scores, and that equal scores give equal files."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import example_scores
import numpy as np
import pytest
from small_builds import read_files

import corruptset
from corruptset.scores.comparison import figures
from corruptset.scores.comparison.entries import gather, reference_point

PLOTS = {
    "two_factor": ["accuracy_and_cv"],
    "order_effects": ["order_effects"],
    "profiles": ["degradation_accuracy", "degradation_probability", "degradation_rank"],
    "sets": ["error_and_severity"],
    "maude": ["maude"],
    "fragile": ["fragile"],
}
"""Field or group of scores -> its plots."""
DRAW = """
import sys
sys.path.insert(0, {tests!r})
import example_scores
from pathlib import Path
import corruptset
made = example_scores.validate_scores(*(example_scores.small_scores(i, {name!r} + str(i)) for i in range(2)))
corruptset.compare(made, Path({folder!r}))
"""
NAME = "<script>\u202e & \u0007é"


def plots_of(models):
    return figures.figures(models, reference_point(models))


@pytest.fixture(scope="module")
def plots_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    corruptset.compare(
        example_scores.validate_scores(*(example_scores.small_scores(i, f"{NAME}{i}") for i in range(2))), folder
    )
    return folder / "plots"


def test_every_plot_is_svg_with_names_as_text(plots_dir):
    names = sorted(name for plots in PLOTS.values() for name in plots)
    assert sorted(p.name for p in plots_dir.iterdir()) == sorted(f"{n}.svg" for n in names)
    for name in names:
        root = xml.etree.ElementTree.parse(plots_dir / f"{name}.svg").getroot()
        text = "".join(root.itertext())
        assert root.tag.endswith("svg")
        assert not {"\u202e", "\u0007"} & set(text)
        assert "<script>" in text
    full_scores = example_scores.full_scores()
    for field, plots in {**PLOTS, "style": []}.items():
        own = [s for s in full_scores["scores"] if s["name"].partition(".")[0] == field]
        fields = {field: full_scores[field]} if field in full_scores else {"scores": own}
        assert (
            sorted(plots_of(gather(example_scores.validate_scores(example_scores.minimal_scores(**fields))))) == plots
        )


@pytest.mark.ci
def test_two_processes_write_same_bytes(plots_dir, tmp_path):
    code = DRAW.format(tests=str(Path(example_scores.__file__).parent), folder=str(tmp_path), name=NAME)
    subprocess.run([sys.executable, "-c", code], check=True)
    assert read_files(tmp_path / "plots") == read_files(plots_dir)


def test_plotted_values_match_scores():
    results = [example_scores.full_scores(i) for i in (1, 0, 2)]
    names = ("two_factor.cv_percent", "two_factor.mean_accuracy", "maude")
    values = [[example_scores.score_of(job_result, name) for name in names] for job_result in results]
    expected = [(cv, 100 * mean) for cv, mean, _ in values]
    models = gather(example_scores.validate_scores(*results))
    (chart,) = figures.quadrant_charts(models, reference_point(models))
    np.testing.assert_allclose([line.points[0][:2] for line in chart.lines], expected)
    np.testing.assert_allclose(chart.middle, np.mean(expected, axis=0))
    place = {shape.text: shape.points[0] for shape in chart.shapes() if shape.kind.startswith("corner")}
    assert place["I"][0] == place["III"][0] < place["II"][0] == place["IV"][0]
    assert place["I"][1] == place["II"][1] < place["III"][1] == place["IV"][1]
    bars = [shape for shape in plots_of(models)["maude"].shapes if shape.kind == "bar"]
    assert [bar.model for bar in bars] == [1, 0, 2]
    widths = [bar.points[1][0] - bar.points[0][0] for bar in bars]
    areas = sorted(area for _, _, area in values)
    np.testing.assert_allclose(np.array(widths) / widths[0], np.array(areas) / areas[0])
    del results[0]["sets"]["fog/3"]
    titles = {
        chart.title
        for chart in figures.curve_charts(gather(example_scores.validate_scores(results[0])), figures.ERRORS)
    }
    assert not {"fog", "mean of the fifteen"} & titles
