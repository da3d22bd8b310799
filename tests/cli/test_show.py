"""`show`: gradual degradations, recipes with levels and chains, and what finished builds hold."""

from __future__ import annotations

import re

import pytest

from corruptset.generate.level_effects import change_table

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


def lines(text: str) -> dict[str, str]:
    """Return a table's lines by their first word."""
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


def test_a_gradual_degradation_has_ladders_and_a_table_of_changes(run):
    done = run("show random_boxes")
    assert done.code == 0, done.err
    assert re.search(r"^evaluated +0\.1 +3 +6 *$", done.out, re.MULTILINE)
    assert re.search(r"^text +0\.1 +2 +5 *$", done.out, re.MULTILINE)
    assert "Calibration" not in done.out
    assert "Draws:       boxes=" in done.out
    rows = lines(done.out.partition("\nChanges\n")[2])
    table = change_table("random_boxes")
    for level in range(31):
        row = table[level]
        numbers = (f"{round(v, 1):.10g}" for v in (row.changed, row.mean, row.colours))
        want = [str(level), *row.change.split(), *numbers]
        assert rows[str(level)].split() == want
    assert rows["2"].split()[:3] == ["2", "88", "boxes"]


def test_rows_of_the_paper_and_rows_of_ours_are_told_apart(run):
    sources = [line for line in run("show uniform_noise").out.splitlines() if line.startswith("  severities ")]
    assert len(sources) == 2
    assert sources[0].startswith("  severities 1, 2, 3: Hendrycks & Dietterich 2018")
    assert sources[1].startswith("  severities 4, 5: corruptset: ")
    assert "  severities" not in run("show gaussian_noise").out


def test_the_ladder_is_picked_by_an_option_and_json_has_the_table(run):
    shown = run("show adjacent_pixel_swap --json").json
    assert (shown["ladder"], shown["levels"], shown["accumulates"]) == ("evaluated", 99, True)
    assert shown["ladders"]["text"] == {"share": 0.025, "margin": 0, "exchange": True}
    assert [row["level"] for row in shown["changes"]] == list(range(31))
    assert shown["changes"][2]["changed"] == pytest.approx(56.6, abs=1)
    other = run("show adjacent_pixel_swap --ladder text --json").json
    assert (other["ladder"], other["ladders"]) == ("text", shown["ladders"])
    assert other["changes"][2]["changed"] < 20


def test_stages_are_printed_with_parameters_and_level(run, recipe):
    for command in (["show"], ["plan", "--list-sets"]):
        done = run(*command, recipe)
        assert done.code == 0, done.err
        rows = lines(done.out.partition("\nfamily ")[0])  # the summary of a plan comes after it
        assert "fade_black(factor=0.9, level 7)" in rows["fade_black/07"]
        assert "contrast(factor=0.3) + fog(weight=" in rows["contrast-2+fog-2"]
        assert "fade_black(factor=0.9, level 3) + fog(" in rows["fade_black-03+fog-2"]
        assert "canvas=loose" in rows["turned+fog-1"]
        assert "(the preprocessed image)" in rows["clean"]
    assert "black_lines(level 12)" in run("show image-degrade-30").out


def test_a_recipe_says_what_it_holds_out(run):
    assert re.search("^Hold out: +the style microsoft$", run("show icons50-microsoft").out, re.MULTILINE)
    assert "the subtype *small_airplane*, *top_with_upwards_arrow_above*" in run("show icons50-subtype").out
    assert "Hold out" not in run("show mnist-c").out


def test_a_finished_build_shows_metrics_of_every_set(run, recipe):
    built = run("build --first 2 --jobs 1 --json", recipe)
    assert built.code == 0, built.err
    shown = run("show --json", built.json["directory"]).json
    metrics = {s["id"]: s["metrics"] for s in shown["sets"]}
    assert set(metrics) == SETS
    assert {m["images"] for m in metrics.values()} == {2}
    done = run("show", built.json["directory"])
    assert done.code == 0, done.err
    rows = lines(done.out)
    for name, one in metrics.items():
        want = ["-" if one[k] is None else f"{one[k]:.10g}" for k in ("psnr", "ssim", "changed")]
        assert rows[name].split()[-3:] == want
    # infinite
    assert rows["clean"].split()[-3:] == ["-", "1", "0"]


def test_a_build_says_where_severities_lie_against_the_ms_ssim_that_they_were_chosen_by(run):
    built = run("build imagenet-c", *"--first 2 --sets fog/[135] --jobs 1 --no-page --json".split())
    assert built.code == 0, built.err
    metrics = {s["id"]: s["metrics"] for s in run("show --json", built.json["directory"]).json["sets"]}
    out = run("show", built.json["directory"]).out
    rows = lines(out)
    for name, aim in (("fog/1", 0.9), ("fog/5", 0.5)):
        value = metrics[name]["ms_ssim"]
        assert f"{value:.3f} ({value - aim:+.3f})" in rows[name]
    assert f" {metrics['fog/3']['ms_ssim']} " in rows["fog/3"]
    assert "(" not in rows["fog/3"]
    assert "0.9 at severity 1 and 0.5 at severity 5" in out
