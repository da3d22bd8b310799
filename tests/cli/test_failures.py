"""Exceptions become one message and one exit code."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable

import pytest
import typer

from corruptset import errors
from corruptset.cli.failures import guarded
from corruptset.errors import Interrupted, RecipeError


def command(error: BaseException) -> Callable[..., None]:
    def fails(as_json: bool = False) -> None:
        raise error

    return guarded(fails)


CODES = {
    2: ["UnknownCorruption", "ParameterError", "ImageError", "RecipeError", "SourceError", "BuildError"],
    1: ["IncompleteBuild", "VerificationError"],
    3: ["MachineError"],
    130: ["Interrupted"],
}
SYSTEM: list[tuple[BaseException, int]] = [
    (FileNotFoundError(errno.ENOENT, "given", "a.png"), 2),
    (PermissionError(errno.EACCES, "given", "a.png"), 2),
    (OSError(errno.ENOSPC, "given"), 3),
    (OSError(errno.EIO, "given"), 3),
    (MemoryError("given"), 3),
    (ZeroDivisionError("given"), 3),
]


def test_every_kind_of_error_has_its_exit_code_and_its_message(capsys):
    own = [(getattr(errors, name)("given"), code) for code, names in CODES.items() for name in names]
    for error, code in own + SYSTEM:
        with pytest.raises(SystemExit) as left:
            command(error)()
        assert left.value.code == code, error
        out, err = capsys.readouterr()
        assert out == ""
        assert "given" in err
        assert "Traceback" not in err


def test_json_carries_the_error_too(capsys):
    with pytest.raises(SystemExit):
        command(RecipeError("two [mistakes]"))(as_json=True)
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "ok": False,
        "exit_code": 2,
        "error": {"kind": "RecipeError", "message": "two [mistakes]"},
    }
    assert "two [mistakes]" in err


def test_debug_shows_the_traceback(capsys, monkeypatch):
    monkeypatch.setenv("CORRUPTSET_DEBUG", "1")
    with pytest.raises(SystemExit):
        command(RecipeError("given"))()
    assert "Traceback" in capsys.readouterr().err


def test_an_error_of_our_own_says_what_to_report(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["corruptset", "list", "a b"])
    with pytest.raises(SystemExit):
        command(ZeroDivisionError("given"))()
    err = capsys.readouterr().err
    assert "report" in err
    assert "ZeroDivisionError: given" in err
    assert "corruptset list 'a b'" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "arguments", "resumes"),
    [
        (KeyboardInterrupt(), ["build", "imagenet-c", "--out", "a b"], True),
        (Interrupted("Interrupted."), ["build", "imagenet-c", "--out", "a b"], True),
        (KeyboardInterrupt(), ["list"], False),
    ],
)
def test_an_interrupted_build_says_how_to_resume(error, arguments, resumes, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/bin/corruptset", *arguments])
    with pytest.raises(SystemExit) as left:
        command(error)()
    assert left.value.code == 130
    err = capsys.readouterr().err
    assert "Interrupted" in err
    assert ("corruptset build imagenet-c --out 'a b'" in err) == resumes


def test_typers_own_exceptions_pass():
    with pytest.raises(typer.Exit):
        command(typer.Exit(1))()
    with pytest.raises(typer.BadParameter):
        command(typer.BadParameter("given"))()
