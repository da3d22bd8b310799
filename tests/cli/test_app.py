"""Help: complete, documented, and without the weight of the libraries that do the work."""

from __future__ import annotations

import re
import shlex
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
NAMES = [
    "list",
    "show",
    "plan",
    "build",
    "verify",
    "rebuild",
    "export",
    "page",
    "pack",
    "unpack",
    "publish",
    "fetch",
    "predict",
    "score",
    "score-table",
    "compare",
    "report",
    "corrupt",
    "preview",
    "check-corruption",
]
HEAVY = ["numpy", "numba", "cv2", "pydantic", "h5py", "joblib", "scipy", "skimage", "PIL"]


def section(name: str) -> str:
    """Return what docs/command-line.md says of a command."""
    found = re.search(
        rf"^## `corruptset {name}\b.*?(?=^## |\Z)", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/command-line.md has no section '## `corruptset {name} ...`'"
    return found[0]


def test_the_commands_are_those_of_the_design() -> None:
    assert list(COMMANDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_command_option_and_argument_has_help(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    silent = [p.name for p in command.params if not getattr(p, "help", None)]
    assert not silent, f"{name}: no help for {silent}"


def test_every_command_has_an_example_in_the_docs() -> None:
    for name in NAMES:
        assert re.search(rf"^corruptset {name}\b", section(name), re.MULTILINE), name


def test_help_imports_nothing_heavy() -> None:
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
def test_help_fits_80_columns_and_cuts_no_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = helped(name, monkeypatch)
    assert max(map(len, text.splitlines())) <= 80
    for parameter in COMMANDS[name].params:
        words = re.escape(max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar)
        assert len(re.findall(rf"^  (?:-\w, )?{words}(?= |$)", text, re.MULTILINE)) == 1, f"{name}: {words}"


def test_the_many_options_of_a_build_stand_under_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    text = helped("build", monkeypatch)
    assert len(text.splitlines()) <= 120
    assert re.findall(r"^(\S.*):$", text, re.MULTILINE) == ["Arguments", "Options", *PANELS]
    build = {word for p in COMMANDS["build"].params for word in p.opts}
    assert {f"--{name}" for names in PANELS.values() for name in names.split()} < build
    common = text.partition("\nOptions:")[2].partition("\nSelection:")[0]
    assert re.findall(r"^  (?:-\w, )?(--[a-z]+)", common, re.MULTILINE) == [
        "--source", "--out", "--seed", "--jobs", "--sets", "--format", "--json", "--help"
    ]  # fmt: skip
    assert "Selection:" not in helped("export", monkeypatch)


def test_help_is_not_eaten_by_markup() -> None:
    """Square brackets in help would be taken for rich's markup and vanish."""
    for name, command in COMMANDS.items():
        for text in [command.help, *(getattr(p, "help", "") or "" for p in command.params)]:
            assert "[" not in text, f"{name}: {text}"


def shown_commands() -> list[tuple[str, str]]:
    """Return every line of the documentation that a reader could paste: (file, what follows the command's name)."""
    root = DOCS.parent.parent
    found = []
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```(?:console|sh|bash)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            found += [(page.name, line) for line in re.findall(r"^(?:\$ )?corruptset +(.*)$", block, re.MULTILINE)]
    return found


def test_commands_in_the_documentation_exist_with_their_options() -> None:
    shown = shown_commands()
    assert {page for page, _ in shown} >= {"README.md", "command-line.md"}
    for page, line in shown:
        words = shlex.split(line, comments=True)
        if words[0] == "--version":
            continue
        assert words[0] in NAMES, f"{page}: {line}"
        known = {opt for p in COMMANDS[words[0]].params for opt in p.opts}
        wrong = [w for w in words[1:] if w.startswith("-") and w.split("=")[0] not in known]
        assert not wrong, f"{page}: {line}: {wrong}"


def test_python_runs_it_as_a_module(tmp_path: Path) -> None:
    for arguments, code, said in ((["--version"], 0, "corruptset "), (["bild"], 2, "Usage: corruptset [OPTIONS]")):
        done = subprocess.run(
            [sys.executable, "-m", "corruptset", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == code
        assert said in done.stdout + done.stderr
