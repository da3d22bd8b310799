"""Help: complete, documented, and without the weight of the libraries that do the work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from corruptset.cli.app import app
from corruptset.cli.hints import PANELS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
NAMES = (
    "list show plan build verify rebuild export page pack unpack publish fetch predict score score-table compare "
    "report corrupt preview check-corruption"
).split()
MOST_OPTIONS = 25
HEAVY = ["numpy", "numba", "cv2", "h5py", "joblib", "scipy", "skimage", "PIL"]


def section(name: str) -> str:
    """Return what docs/command-line.md says of a command."""
    found = re.search(
        rf"^## `corruptset {name}\b.*?(?=^## |\Z)", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/command-line.md has no section '## `corruptset {name} ...`'"
    return found[0]


def test_the_commands_are_those_of_the_design():
    assert list(COMMANDS) == NAMES


def test_help_imports_nothing_heavy():
    program = f"""
import sys
from corruptset.cli import main
for arguments in [["--help"], [], *([name, "--help"] for name in {NAMES!r})]:
    sys.argv = ["corruptset", *arguments]
    try:
        main()
    except SystemExit:
        pass
    print("HEAVY", [m for m in {HEAVY!r} if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout + done.stderr).count("Usage") == len(NAMES) + 2
    assert re.findall("^HEAVY.*", done.stdout, re.MULTILINE) == ["HEAVY []"] * (len(NAMES) + 2)


def helped(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what ``corruptset NAME --help`` prints in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    command = COMMANDS[name]
    return str(command.get_help(typer.Context(command, info_name=name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_command_and_all_that_it_takes_are_explained(name, monkeypatch):
    command, text = COMMANDS[name], helped(name, monkeypatch)
    assert re.search(rf"^corruptset {name}\b", section(name), re.MULTILINE), "the docs have an example"
    assert max(map(len, text.splitlines())) <= 80
    for words in [command.help, *(parameter.help for parameter in command.params)]:
        assert words
        assert "[" not in words, "rich would take it for markup, and leave it out"
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            there = re.escape(parameter.metavar)
        else:
            there = re.escape(max(parameter.opts, key=len))
            assert not parameter.hidden or parameter.opts[0].removeprefix("--") in text.partition("Settings, ")[2]
        shown = not getattr(parameter, "hidden", False)
        assert len(re.findall(rf"^  (?:-\w, )?{there}(?= |$)", text, re.MULTILINE)) == shown, there


def test_the_options_of_a_build_stand_under_headings(monkeypatch):
    text = helped("build", monkeypatch)
    assert len(text.splitlines()) <= 120
    assert len(re.findall(r"^  (?:-\w, )?--", text, re.MULTILINE)) - 1 <= MOST_OPTIONS, "all but --help"
    assert re.findall(r"^(\S[^,\n]*).*:$", text, re.MULTILINE) == ["Arguments", "Options", *PANELS, "Settings"]
    common = text.partition("\nOptions:")[2].partition("\nSelection:")[0]
    assert re.findall(r"^  (?:-\w, )?(--[a-z]+)", common, re.MULTILINE) == [
        "--source", "--out", "--seed", "--jobs", "--sets", "--format", "--json", "--help"
    ]  # fmt: skip
    assert "Selection:" not in helped("export", monkeypatch)


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("x --source cifar100:a?b/c.tar?labels=coarse", "x --source cifar100:a?b/c.tar --labels coarse"),
        ("x --source=tree:p?images=val/?.jpg", "x --source tree:p --images val/?.jpg"),
        ("x --source icons50:p?hold-out=group=a&train", "x --source icons50:p --hold-out group=a --train"),
        ("pairs?first-stages=fog,snow&orders=given&severities=1-3",
         "pairs --first-stages fog,snow --orders given --severities 1-3"),
        ("x --surrogate m.toml?device=cuda", "x --surrogate m.toml --device cuda"),
    ],
)  # fmt: skip
def test_settings_stand_behind_a_question_mark(written, means):
    build = COMMANDS["build"]
    parsed, spelt = (build.make_context("build", words.split()).params for words in (written, means))
    assert parsed == spelt
    other = build.make_context("build", ["x", "--source", "https://h/x.tar?token=1&labels=2"]).params
    assert (other["source"], other["labels"]) == ("https://h/x.tar?token=1&labels=2", None)


def test_python_runs_it_as_a_module(tmp_path):
    for arguments, code, said in ((["--version"], 0, "corruptset "), (["bild"], 2, "Usage: corruptset [OPTIONS]")):
        done = subprocess.run(
            [sys.executable, "-m", "corruptset", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == code
        assert said in done.stdout + done.stderr
