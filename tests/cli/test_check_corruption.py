"""check-corruption, and --plugin of the other commands."""

from __future__ import annotations

import pytest
from layouts import write_recipe
from PIL import Image
from plugin_files import HEAD, function, without_plugins, write_blinds


@pytest.fixture(autouse=True)
def forgotten():
    with without_plugins():
        yield


def test_a_failure_is_a_sentence_and_exit_code_1(run, tmp_path):
    (tmp_path / "wrong.py").write_text(HEAD + function("halved", "return images[:, ::2]", ", deterministic=True"))
    done = run("check-corruption halved --plugin wrong.py")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "halved returned the shape (1, 4, 8, 1); expected (1, 8, 8, 1), at 8x8 with 1 channel."
    ]
    with without_plugins():
        told = run("check-corruption halved --plugin wrong.py --json")
        assert (told.code, told.json["ok"], told.json["plugin"], len(told.json["failures"])) == (1, False, "wrong", 1)


@pytest.mark.ci
def test_what_keeps_the_contract_is_said_to(run, tmp_path):
    write_blinds(tmp_path)
    done = run("check-corruption blinds --plugin mine.py --no-large")
    assert done.code == 0
    assert "another process makes the same" in done.out
    assert "4000x6000" not in done.out
    ours = run("check-corruption rotate --param angle_deg=30 --no-large --json")
    assert (ours.code, ours.json["ok"], ours.json["plugin"]) == (0, True, None)
    assert len(ours.json["checks"]) == 6


def test_mistakes_are_exit_code_2(run, tmp_path):
    for arguments, sentence in (
        (["check-corruption", "fgo"], "There is no corruption 'fgo'. Did you mean 'fog'?"),
        (["check-corruption", "fog", "--plugin", "nothing.py"], "nothing.py cannot be loaded"),
        (["list", "--plugin", "nothing_of_that_name"], "There is no plugin 'nothing_of_that_name'"),
        (["plan", "pairs", "--first-stages", "blinds", "--second-stages", "fog"], "blinds"),
    ):
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert sentence in done.err
    write_blinds(tmp_path)
    done = run("list --plugin mine")
    assert done.code == 2
    assert "The file mine.py is here: name it as ./mine.py." in done.err


def test_every_command_takes_a_plugin(run, tmp_path):
    write_blinds(tmp_path)
    Image.new("RGB", (48, 40), "orange").save(tmp_path / "photo.png")
    given = ["--plugin", "./mine.py"]
    write_recipe(tmp_path, name="own", more='[[sets]]\ncorruptions = ["blinds"]\nseverities = [1, 5]\n')
    pairs = "pairs?first-stages=blinds-2&second-stages=contrast-3&orders=given"
    for arguments, sentence in (
        (["list"], "blinds"),
        (["show", "blinds"], "Doe 2024, Venetian Blinds"),
        (["corrupt", "photo.png", "blinds", "--severity", "3", "--out", "out.png"], "Path:     out.png"),
        (["plan", pairs, "--calibration", "cifar", "--any-shape"], "blinds+contrast"),
        (
            ["preview", "photo.png", "--recipe", "own-png.toml", "--out", "sheet.png"],
            "Recipe: own",
        ),
    ):
        with without_plugins():
            done = run(*arguments, *given)
        assert done.code == 0, done.err
        assert sentence in done.out
        with without_plugins():
            assert "blinds" not in run(*arguments).out or arguments[0] == "corrupt"
