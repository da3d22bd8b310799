"""Help: complete, documented, and without the weight of the libraries that do the work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from plugin_files import write_installed

from corruptset.cli.app import app
from corruptset.cli.hints import PANELS, UsageError

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text("utf-8")
COMMANDS = typer.main.get_command(app).commands
MOST_OPTIONS = 26
HEAVY = ["numpy", "numba", "cv2", "h5py", "joblib", "scipy", "skimage", "PIL"]


def test_help_imports_nothing_heavy():
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
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout + done.stderr).count("Usage") == len(calls)
    assert done.stdout.endswith("HEAVY []\n")


def test_one_broken_command_of_an_add_on_ends_no_other(tmp_path):
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
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert re.match(r"(?s)well\nhello 0\nbroken 2\n.*Usage.*\n--help 0\n", done.stdout), done
    assert re.findall(r"(\w+) +Greet", done.stdout) == ["hello"], "a command of corruptset's own stays"
    broken = "The package slats: broken = slats:missing (corruptset.commands) cannot be loaded: AttributeError"
    assert done.stderr.count(broken) == 2, "it is an error where it is asked for, and a warning in help"


def helped(name):
    """Return what ``corruptset NAME --help`` prints in a terminal of 80 columns."""
    return str(COMMANDS[name].get_help(typer.Context(COMMANDS[name], info_name=name)))


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_every_command_and_all_that_it_takes_are_explained():
    for name, command in COMMANDS.items():
        text = helped(name)
        section = re.search(rf"^## `corruptset {name}\b.*?(?=^## |\Z)", DOCS, re.MULTILINE | re.DOTALL)
        assert section, f"docs/command-line.md has no section '## `corruptset {name} ...`'"
        assert re.search(rf"^corruptset {name}\b", section[0], re.MULTILINE), f"the docs have an example of {name}"
        assert max(map(len, text.splitlines())) <= 80
        for words in [command.help, *(parameter.help for parameter in command.params)]:
            assert words
            assert "[" not in words, "rich would take it for markup, and leave it out"
        for one in command.params:
            hidden = getattr(one, "hidden", False)
            there = one.metavar if one.param_type_name == "argument" else max(one.opts, key=len)
            assert not hidden or one.opts[0].removeprefix("--") in text.partition("Settings, ")[2]
            assert len(re.findall(rf"^  (?:-\w, )?{re.escape(there)}(?= |$)", text, re.MULTILINE)) == (not hidden)


def test_the_options_of_a_build_stand_under_headings():
    text = helped("build")
    assert len(text.splitlines()) <= 120
    assert len(re.findall(r"^  (?:-\w, )?--", text, re.MULTILINE)) - 1 <= MOST_OPTIONS, "all but --help"
    assert re.findall(r"^(\S[^,\n]*).*:$", text, re.MULTILINE) == ["Arguments", "Options", *PANELS, "Settings"]
    common = text.partition("\nOptions:")[2].partition("\nSelection:")[0]
    options = "--source --out --seed --jobs --sets --storage --encoding --json --help"
    assert re.findall(r"^  (?:-\w, )?(--[a-z]+)", common, re.MULTILINE) == options.split()
    assert "Selection:" not in helped("export")


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
    parsed, spelt = (COMMANDS["build"].make_context("build", words.split()).params for words in (written, means))
    assert parsed == spelt


@pytest.mark.parametrize("setting", ["labels", "labels=&train", "train&hold-out"])
def test_a_setting_without_its_value(setting):
    with pytest.raises(UsageError, match=r"\?(labels|hold-out) needs a value: "):
        COMMANDS["build"].make_context("build", ["x", "--source", f"folder:p?{setting}", "--skip-bad"])


def test_a_question_mark_of_a_url_stays_in_it():
    given = COMMANDS["build"].make_context("build", ["x", "--source", "https://h/x.tar?token=1&labels=2"]).params
    assert (given["source"], given["labels"]) == ("https://h/x.tar?token=1&labels=2", None)


@pytest.mark.parametrize(
    ("word", "code", "said"), [("--version", 0, "corruptset "), ("bild", 2, "Usage: corruptset [")]
)
def test_python_runs_it_as_a_module(tmp_path, word, code, said):
    done = subprocess.run([sys.executable, "-m", "corruptset", word], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True)
