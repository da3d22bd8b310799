"""Test the form of the output on standard output."""

from __future__ import annotations

import doctest
import importlib
import io
import json
import sys

import pytest

from corruptset.cli.output import console, put, put_json, put_notes, say, shorten
from corruptset.cli.records import put_facts, put_rows


@pytest.mark.parametrize("module", ["output", "options", "corrupt"])
def test_documented_examples_run(module):
    result = doctest.testmod(importlib.import_module(f"corruptset.cli.{module}"))
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize(
    "text", ["12/75 sets, é 'b' [bold]x[/bold] :smile: 0x1f", "two\nlines\n", "a tab\t, a bell\a", "x" * 400]
)
def test_piped_text_is_same_with_and_without_rich(text, capsys):
    put(text)
    output = capsys.readouterr().out
    console().print(text, soft_wrap=True)
    assert output == capsys.readouterr().out
    assert output.rstrip("\n") == text.rstrip("\n").replace("\t", "\\t").replace("\a", "\\x07")


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "é"), ("ascii", "\\u00e9"), ("latin-1", "\\u00e9")])
def test_json_is_valid_in_any_encoding(encoding, shown, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    put_json({"name": "é"})
    assert shown.encode("utf-8") in raw.getvalue()
    assert json.loads(raw.getvalue().decode(encoding)) == {"name": "é"}


def test_long_values_are_shortened_but_prose_and_paths_are_not():
    for value in ("x" * 5000, "x y " * 5000, "it's " * 999, "\\" * 5000, "'" * 3000):
        message = shorten(f"name is {value!r}; expected a name")
        assert (message.startswith("name is "), message.endswith("; expected a name"), len(message) < 500) == (
            True,
            True,
            True,
        )
    assert len(shorten("y" * 100_000)) == 203
    prose = "ImageNet's fifteen corruptions, and the models' answers, are the user's own; they're compared. " * 20
    path = "/a/path/of/" + "many/folders/" * 20
    for text in (prose, path, "the set 'fog/3'"):
        assert shorten(text) == text


def test_control_characters_are_escaped_in_output(capsys):
    text = "a\x1b[2J\x07\x9b\u202e\u2066\u2028\u200f\ud800b\nc"
    for write in (put, say, lambda text: put_notes([text]), lambda text: put_facts({"name": text})):
        write(text)
    put_rows(["one", "two"], [[text.replace("\n", ""), "x" * 5000]])
    captured = capsys.readouterr()
    for stream in (captured.out, captured.err):
        assert stream.replace("\n", "").isprintable()
        assert "\\x1b[2J\\x07\\x9b\\u202e\\u2066\\u2028\\u200f\\ud800b\nc" in stream
    assert "x" * 201 not in captured.out
