"""Test the command check-corruption, and the option --plugin of other commands."""

from __future__ import annotations

import pytest
from PIL import Image
from plugin_files import HEAD, function_source, without_plugins, write_blinds
from small_builds import write_recipe


@pytest.fixture(autouse=True)
def plugin_cleanup():
    with without_plugins():
        yield


def test_failure_is_one_line_with_exit_code_1(run, tmp_path):
    (tmp_path / "wrong.py").write_text(
        HEAD + function_source("halved", "return images[:, ::2]", ", deterministic=True")
    )
    events = run("check-corruption halved --plugin wrong.py --json")
    (failure,) = events.json["failures"]
    assert (events.code, events.json["ok"], events.json["plugin"]) == (1, False, "wrong")
    with without_plugins():
        result = run("check-corruption halved --plugin wrong.py")
    assert (result.code, result.out, result.err) == (1, "", f"{failure}\n")
    assert failure == "halved returned the shape (1, 4, 8, 1); expected (1, 8, 8, 1), at 8x8 with 1 channel."


@pytest.mark.ci
def test_valid_corruption_is_confirmed(run, tmp_path):
    write_blinds(tmp_path)
    result = run.succeeds("check-corruption blinds --plugin mine.py --no-large")
    assert "the output is the same in another process" in result.out
    assert "4000x6000" not in result.out
    ours = run.succeeds("check-corruption rotate --param angle_deg=30 --no-large --json").json
    assert (ours["ok"], ours["plugin"], len(ours["checks"])) == (True, None, 6)


def test_usage_errors_have_exit_code_2(run, tmp_path):
    write_blinds(tmp_path)
    for line, sentence in (
        ("check-corruption fgo", "There is no corruption 'fgo'. Did you mean 'fog'?"),
        ("check-corruption fog --plugin nothing.py", "nothing.py cannot be loaded"),
        ("list --plugin nothing_of_that_name", "There is no plugin 'nothing_of_that_name'"),
        ("list --plugin mine", "To load the file mine.py, pass ./mine.py."),
        ("plan pairs --first-stages blinds --second-stages fog", "blinds"),
    ):
        assert run.fails(sentence, line).out == ""


def test_every_command_accepts_plugin(run, tmp_path):
    write_blinds(tmp_path)
    Image.new("RGB", (48, 40), "orange").save(tmp_path / "photo.png")
    write_recipe(tmp_path, name="own", more='[[sets]]\ncorruptions = ["blinds"]\nseverities = [1, 5]\n')
    pairs = "pairs --first-stages blinds-2 --second-stages contrast-3 --orders given"
    for line, sentence in (
        ("list", "blinds"),
        ("show blinds", "Doe 2024, Venetian Blinds"),
        ("corrupt photo.png blinds --severity 3 --out out.png", "Path:     out.png"),
        (f"plan {pairs} --calibration cifar --any-shape --storage folder", "blinds+contrast"),
        ("preview photo.png --recipe own-png.toml --out sheet.png", "Recipe: own"),
    ):
        with without_plugins():
            assert sentence in run.succeeds(line, "--plugin", "./mine.py").out
    with without_plugins():
        assert sentence not in run(line).out
