"""Test that the help is complete, and that printing it does not import large libraries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from commands import exit_code
from plugin_files import write_installed

from corruptset.cli.app import app
from corruptset.cli.options import MACHINE, MODEL, OUTPUT, SELECTION, SETS, SOURCE

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text("utf-8")
SHARED = DOCS.partition("## Options that commands share")[2].partition("\n## ")[0]
COMMANDS = typer.main.get_command(app).commands
HEAVY = ["numpy", "numba", "cv2", "h5py", "joblib", "scipy", "skimage", "PIL"]


def test_help_imports_no_heavy_modules():
    calls = [["--help"], [], *([name, "--help"] for name in COMMANDS)]
    program = f"""
import sys
from corruptset.cli import main
for arguments in {calls}:
    sys.argv = ["corruptset", *arguments]
    try:
        main()
    except SystemExit:
        pass
print("HEAVY", [m for m in {HEAVY!r} if m in sys.modules])
"""
    result = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (result.stdout + result.stderr).count("Usage") == len(calls)
    assert result.stdout.endswith("HEAVY []\n")


def test_broken_add_on_command_does_not_affect_others(tmp_path):
    (tmp_path / "slats.py").write_text("def hello() -> None:\n    'Greet.'\n    print('well')\n")
    commands = "hello = slats:hello\nbroken = slats:missing\nbuild = slats:hello\n"
    write_installed(tmp_path, "slats", f"[corruptset.commands]\n{commands}")
    program = """
import sys
from corruptset.cli.app import run
for word in ("hello", "broken", "--help"):
    sys.argv = ["corruptset", word]
    try:
        run()
    except SystemExit as e:
        print(word, e.code)
"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "COLUMNS": "80"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert re.match(r"(?s)well\nhello 0\nbroken 2\n.*Usage.*\n--help 0\n", result.stdout), result
    assert re.findall(r"(\w+) +Greet", result.stdout) == ["hello"], "a command of corruptset's own stays"
    broken = "The package slats: broken = slats:missing (corruptset.commands) cannot be loaded: AttributeError"
    assert result.stderr.count(broken) == 2, "it is an error where it is asked for, and a warning in help"


def help_text(name, capsys):
    """Return the output of ``corruptset NAME --help`` in a terminal of 80 columns."""
    capsys.readouterr()
    assert exit_code(name, "--help") == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_every_command_and_parameter_has_help(capsys):
    for name, command in COMMANDS.items():
        text = help_text(name, capsys)
        section = re.search(rf"^## `corruptset {name}\b.*?(?=^## |\Z)", DOCS, re.MULTILINE | re.DOTALL)
        assert section, f"docs/command-line.md has no section '## `corruptset {name} ...`'"
        assert re.search(rf"^corruptset {name}\b", section[0], re.MULTILINE), f"the docs have an example of {name}"
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text, "a name or a meaning is cut"
        for parameter in command.params:
            assert parameter.help, (name, parameter.name)
            assert "[" not in parameter.help, "rich would take it for markup, and leave it out"
            written = parameter.metavar if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
            assert len(re.findall(rf"^│ +(?:\* +)?{re.escape(written)} ", text, re.MULTILINE)) == 1, (name, written)
            if parameter.param_type_name == "option" and written not in ("--json", "--help"):
                assert re.search(rf"{written}\b", section[0] + SHARED), f"the docs do not explain {name} {written}"


def test_build_options_are_grouped_under_headings(capsys):
    headings = re.findall(r"^╭─ (.*?) ─+╮$", help_text("build", capsys), re.MULTILINE)
    assert headings == ["Arguments", "Options", SOURCE, SELECTION, SETS, OUTPUT, MODEL, MACHINE]


def test_question_mark_is_part_of_value():
    options = COMMANDS["build"].make_context("build", ["x", "--source", "folder:w?labels=2", "--out", "w?split=test"])
    assert (options.params["source"], str(options.params["out"])) == ("folder:w?labels=2", "w?split=test")
    assert (options.params["labels"], options.params["split"]) == (None, None)


def test_package_runs_as_module(tmp_path):
    arguments = [sys.executable, "-m", "corruptset", "--version"]
    result = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stdout[:11]) == (0, "corruptset ")
