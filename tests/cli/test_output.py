"""What goes to standard output, and how."""

from __future__ import annotations

import doctest
import importlib
import io
import json
import sys

import pytest

from corruptset.cli.output import console, put, put_json


@pytest.mark.parametrize("module", ["output", "options", "corrupt"])
def test_examples(module):
    found = doctest.testmod(importlib.import_module(f"corruptset.cli.{module}"))
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize(
    "text", ["12/75 sets, é 'b' [bold]x[/bold] :smile: 0x1f", "two\nlines\n", "a tab\t, a bell\a", "x" * 400]
)
def test_a_pipe_gets_the_same_text_with_rich_and_without_it(text, capsys):
    put(text)
    written = capsys.readouterr().out
    console().print(text, soft_wrap=True)
    assert written == capsys.readouterr().out
    assert written.rstrip("\n") == text.rstrip("\n").replace("\t", "\\t").replace("\a", "\\x07")


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "é"), ("ascii", "\\u00e9"), ("latin-1", "\\u00e9")])
def test_json_is_json_in_any_encoding(encoding, shown, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    put_json({"name": "é"})
    assert shown.encode("utf-8") in raw.getvalue()
    assert json.loads(raw.getvalue().decode(encoding)) == {"name": "é"}
