"""A page: escaped, one file, its script and style named by their hashes."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import pytest
from html_tree import read_html

from corruptset.pages import document
from corruptset.pages.document import render, text_file, visible

PACKAGE = "corruptset.pages"


def test_the_layout_fetches_nothing_and_its_policy_names_script_and_style_by_their_hashes() -> None:
    page = render("base.html", PACKAGE)
    tree = read_html(page)
    assert tree.one("html").attributes["lang"] == "en"
    for node in tree.all():
        for name in ("src", "href", "action", "srcset", "poster"):
            assert node.attributes.get(name, "#").startswith(("#", "data:")), (node.tag, node.attributes)
    assert not re.search(rb"@import|url\(", page)
    (meta,) = [m for m in tree.all("meta") if "http-equiv" in m.attributes]
    rules = dict(rule.strip().split(" ", 1) for rule in meta.attributes["content"].split(";"))
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (child,) = tree.one(tag).children
        assert isinstance(child, str)
        assert rules.pop(rule) == f"'sha256-{base64.b64encode(hashlib.sha256(child.encode()).digest()).decode()}'"
    none = "'none'"
    assert rules == {"default-src": none, "img-src": "data:", "base-uri": none, "form-action": none}
    assert page.index(b"Content-Security-Policy") < page.index(b"<style>") < page.index(b"<script>")


def test_the_script_makes_no_markup_of_text() -> None:
    script = text_file("page.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|fetch\(|XMLHttp|import\(", script
    )
    assert "</script" not in script.lower()


def test_what_cannot_be_seen_becomes_an_escape() -> None:
    for text, shown in (
        ("plain – größer", "plain – größer"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x00\x1b[0m", "a\\x00\\x1b[0m"),
        ("line\nline", "line\nline"),
        ("a\ud800b", "a\\ud800b"),
        (2.5, 2.5),
        (None, None),
    ):
        assert visible(text) == shown


def test_values_are_escaped(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "strange"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "templates/x.html").write_text('<p title="{{ value }}">{{ value }}</p>')
    monkeypatch.syspath_prepend(tmp_path)
    document._environment.cache_clear()
    text = render("x.html", "strange", value="\"><script>alert(1)</script>\u202e'&").decode()
    (paragraph,) = read_html(text.encode()).all()
    assert paragraph.attributes["title"] == paragraph.text == "\"><script>alert(1)</script>\\u202e'&"
    document._environment.cache_clear()
