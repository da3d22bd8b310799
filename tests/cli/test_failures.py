"""Test that exceptions become one message and an exit code."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import types

import pytest
import typer

from corruptset import errors
from corruptset.cli.failures import guard


@pytest.fixture
def fails(monkeypatch, capsys):
    """Return a function that raises an error in a command, and returns the exit code and the output."""

    def call(error, line="list", **kwargs):
        monkeypatch.setattr(sys, "argv", ["/bin/corruptset", *line.split()])

        def command(as_json=False):
            raise error

        with pytest.raises(SystemExit) as exc_info:
            guard(command)(**kwargs)
        return exc_info.value.code, *capsys.readouterr()

    return call


CODES = {
    2: ["UnknownCorruption", "ParameterError", "ImageError", "RecipeError", "SourceError", "BuildError"],
    1: ["IncompleteBuild", "VerificationError"],
    3: ["MachineError"],
    130: ["Interrupted"],
}
SYSTEM = [
    (FileNotFoundError(errno.ENOENT, "given", "a.png"), 2),
    (PermissionError(errno.EACCES, "given", "a.png"), 2),
    (OSError(errno.ENOSPC, "given"), 3),
    (OSError(errno.EIO, "given"), 3),
    (MemoryError("given"), 3),
    (ImportError("given.so: failed to map segment from shared object"), 3),
]


def test_every_error_class_has_exit_code_and_message(fails, monkeypatch):
    own = [(getattr(errors, name)("given"), code) for code, names in CODES.items() for name in names]
    for error, code in own + SYSTEM:
        exit_code, out, err = fails(error)
        assert (exit_code, out, "given" in err, "Traceback" in err) == (code, "", True, False), error
        assert "report it" not in err, error
    monkeypatch.setenv("CORRUPTSET_DEBUG", "1")
    assert "Traceback" in fails(errors.RecipeError("given"))[2]


def test_full_disk_quota_and_missing_inodes_are_distinguished(fails, monkeypatch, tmp_path):
    free = os.statvfs(tmp_path)
    none = types.SimpleNamespace(f_files=1000, f_ffree=0, f_favail=0, f_bavail=1000, f_blocks=2000, f_frsize=4096)
    for number, status, message in (
        (errno.ENOSPC, free, "free some space or correct the path"),
        (errno.ENOSPC, none, "has free space, but no free inodes for new files (`df -i` shows them): delete files"),
        (errno.EDQUOT, free, "your disk quota is exhausted (`quota -s` shows it)"),
        (errno.EDQUOT, none, "your disk quota is exhausted"),
        (errno.EIO, none, "free some space or correct the path"),
    ):
        monkeypatch.setattr(os, "statvfs", lambda path, status=status: status)
        for name in (str(tmp_path / "no/such/file"), None):
            code, _, err = fails(OSError(number, os.strerror(number), name), "build imagenet-c")
            assert (code, message in err, "run the same command again" in err) == (3, True, True), err


def test_json_output_contains_error(fails):
    _, out, err = fails(errors.RecipeError("two [mistakes]"), as_json=True)
    error = {"kind": "RecipeError", "message": "two [mistakes]"}
    assert json.loads(out) == {"ok": False, "exit_code": 2, "error": error}
    assert "two [mistakes]" in err


def test_internal_error_says_what_to_report(fails):
    code, out, err = fails(ZeroDivisionError("given"), "list a")
    assert (code, out, len(err.splitlines())) == (3, "", 1)
    for message in ("please report it", "ZeroDivisionError: given", "corruptset list a"):
        assert message in err


def test_interrupted_build_says_how_to_resume(fails):
    for error in (KeyboardInterrupt(), errors.Interrupted("Interrupted.")):
        for line, resumes in (("build imagenet-c --out a", True), ("unpack a --out b", True), ("list", False)):
            code, _, err = fails(error, line)
            assert (code, "Interrupted" in err, f"corruptset {line}" in err) == (130, True, resumes)


def test_error_caused_by_interruption_counts_as_interruption(fails):
    """A signal while a file is opened can make closing it fail, and the file then seems to be damaged."""
    damaged = errors.VerificationError("1.jsonl: cannot be read (Bad file descriptor).")
    damaged.__context__ = OSError(errno.EBADF, os.strerror(errno.EBADF))
    damaged.__context__.__context__ = KeyboardInterrupt()
    code, _, err = fails(damaged, "build imagenet-c --out a")
    assert (code, "1.jsonl" in err, "Run the same command again to resume" in err) == (130, False, True)


@pytest.mark.parametrize("error", [typer.Exit(1), typer.BadParameter("given")])
def test_typer_exceptions_are_passed_on(fails, error):
    with pytest.raises(type(error)):
        fails(error)


NAMES = """
import sys, corruptset, corruptset.cli
corruptset.corrupt
try:
    corruptset.open
except corruptset.errors.ParameterError as e:
    print(e, file=sys.stderr)
sys.argv[1:] = ["list", "--json"]
corruptset.cli.main()
"""


def test_file_names_not_in_utf_8_are_rejected():
    """Test that another encoding is refused, because sample ids and random draws would depend on it."""
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    result = subprocess.run([sys.executable, "-c", NAMES], env=os.environ | locale, capture_output=True, text=True)
    message = "Python decodes file names as ascii here (LC_ALL=C), but corruptset needs UTF-8. Set PYTHONUTF8=1 and"
    assert (result.returncode, result.stderr.count(message)) == (2, 2), result.stderr
    assert json.loads(result.stdout)["error"]["kind"] == "ParameterError"
