"""Test the command `show` for gradual degradations, recipes with levels and chains, and finished builds."""

from __future__ import annotations

import re

import pytest

MIXED = """
name = "mixed"
version = "1.0.0"
calibration = "tiny"
preprocessing = {kind = "resize", side = 64}
encoding = {format = "png"}

[stages.turned]
corruption = "rotate"
parameters = {angle_deg = 30.0, direction = "clockwise", canvas = "loose"}

[[sets]]
clean = true

[[sets]]
corruptions = ["fade_black"]
levels = [1, 7]

[[sets]]
chain = ["turned", "fog-1"]

[[pairs]]
first = ["fog"]
second = ["fade_black", "contrast"]
severities = [2]
levels = [3]
"""
SETS = {
    "clean", "fade_black/01", "fade_black/07", "turned+fog-1",
    "fog-2+fade_black-03", "fade_black-03+fog-2", "fog-2+contrast-2", "contrast-2+fog-2",
}  # fmt: skip


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "mixed.toml").write_text(MIXED)
    return tmp_path / "mixed.toml"


def table_lines(text):
    """Return the lines of a table by their first word."""
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


def test_gradual_corruption_has_parameter_sets_and_table_of_changes(run):
    out = run.succeeds("show random_boxes").out
    assert re.search(r"^evaluated +0\.1 +3 +6 *$", out, re.MULTILINE)
    assert re.search(r"^text +0\.1 +2 +5 *$", out, re.MULTILINE)
    assert "Calibration" not in out
    assert "Draws:       boxes=" in out
    rows = table_lines(out.partition("\nChanges\n")[2])
    record = run.succeeds("show random_boxes --json").json
    assert [row["level"] for row in record["changes"]] == list(range(31))
    for row in record["changes"]:
        numbers = (f"{row[key]:.10g}" for key in ("changed", "mean", "colours"))
        assert [float(n) for n in rows[str(row["level"])].split()[-3:]] == pytest.approx(
            [*map(float, numbers)], abs=0.05
        )
    assert rows["2"].split()[:3] == ["2", "88", "boxes"]
    assert (record["ladder"], record["levels"], record["accumulates"]) == ("evaluated", 99, True)
    other = run.succeeds("show random_boxes --ladder text --json").json
    assert (other["ladder"], other["ladders"]) == ("text", record["ladders"])
    assert other["changes"][2]["changed"] < record["changes"][2]["changed"]


def test_paper_rows_and_own_rows_are_distinguished(run):
    paper, ours = (
        line for line in run.succeeds("show uniform_noise").out.splitlines() if line.startswith("  severities ")
    )
    assert paper.startswith("  severities 1, 2, 3: Hendrycks & Dietterich 2018")
    assert ours.startswith("  severities 4, 5: corruptset: ")
    assert "  severities" not in run.succeeds("show gaussian_noise").out


def test_stages_are_printed_with_parameters_and_level(run, recipe):
    for command in ("show", "plan --list-sets"):
        # The summary of a plan follows the table.
        rows = table_lines(run.succeeds(command, recipe).out.partition("\nfamily ")[0])
        for name, message in {
            "fade_black/07": "fade_black(factor=0.9, level 7)",
            "contrast-2+fog-2": "contrast(factor=0.3) + fog(weight=",
            "fade_black-03+fog-2": "fade_black(factor=0.9, level 3) + fog(",
            "turned+fog-1": "canvas=loose",
            "clean": "(the preprocessed image)",
        }.items():
            assert message in rows[name]
    assert "black_lines(level 12)" in run.succeeds("show image-degrade-30").out


def test_recipe_states_held_out_samples(run):
    assert re.search("^Hold out: +the style microsoft$", run.succeeds("show icons50-microsoft").out, re.MULTILINE)
    assert "the subtype *small_airplane*, *top_with_upwards_arrow_above*" in run.succeeds("show icons50-subtype").out
    assert "Hold out" not in run.succeeds("show mnist-c").out


def show_build(run, line):
    """Build a dataset, and return the metrics of every set and the lines in which `show` prints them."""
    directory = run.succeeds(f"build {line} --first 2 --jobs 1 --no-page --json").json["directory"]
    metrics = {s["id"]: s["metrics"] for s in run.succeeds("show --json", directory).json["sets"]}
    return metrics, run.succeeds("show", directory).out


def test_finished_build_shows_metrics_of_every_set(run, recipe):
    metrics, out = show_build(run, recipe)
    assert set(metrics) == SETS
    assert {m["images"] for m in metrics.values()} == {2}
    rows = table_lines(out)
    for name, metric in metrics.items():
        expected = ["-" if metric[k] is None else f"{metric[k]:.10g}" for k in ("psnr", "ssim", "changed")]
        assert rows[name].split()[-3:] == expected
    # The PSNR is infinite.
    assert rows["clean"].split()[-3:] == ["-", "1", "0"]


def test_build_compares_severities_with_target_ms_ssim(run):
    metrics, out = show_build(run, "imagenet-c --sets fog/[135]")
    rows = table_lines(out)
    for name, aim in (("fog/1", 0.9), ("fog/5", 0.5)):
        value = metrics[name]["ms_ssim"]
        assert f"{value:.3f} ({value - aim:+.3f})" in rows[name]
    assert f" {metrics['fog/3']['ms_ssim']} " in rows["fog/3"]
    assert "(" not in rows["fog/3"]
    assert "0.9 at severity 1 and from 0.5 at severity 5" in out


def test_recipe_file_can_be_saved_and_edited(run, tmp_path):
    text = run.succeeds("show imagenet-d --toml").out
    assert 'name = "imagenet-c"' in text
    (tmp_path / "mine.toml").write_text(text.replace('name = "imagenet-c"', 'name = "mine"'))
    record, own = run.succeeds("show imagenet-c --json").json, run.succeeds("show mine.toml --json").json
    assert (own["recipe"]["name"], own["sets"]) == ("mine", record["sets"])
    run.fails("There is no recipe 'fogg'", "show fogg --toml")
