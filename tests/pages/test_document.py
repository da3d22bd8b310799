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


@pytest.fixture(scope="module")
def page() -> bytes:
    return render("base.html", PACKAGE)


def test_the_layout_closes_what_it_opens_and_fetches_nothing(page: bytes) -> None:
    tree = read_html(page)
    assert tree.one("html").attributes["lang"] == "en"
    for node in tree.all():
        for name in ("src", "href", "action", "srcset", "poster"):
            if name in node.attributes:
                assert node.attributes[name].startswith(("#", "data:")), (node.tag, node.attributes)
    assert not re.search(rb"@import|url\(", page)


def test_the_policy_names_the_script_and_the_style_by_their_hashes(page: bytes) -> None:
    tree = read_html(page)
    (meta,) = [m for m in tree.all("meta") if "http-equiv" in m.attributes]
    rules = dict(rule.strip().split(" ", 1) for rule in meta.attributes["content"].split(";"))
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (child,) = tree.one(tag).children
        assert isinstance(child, str)
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(child.encode()).digest()).decode()}'"
    assert (rules["default-src"], rules["img-src"], rules["base-uri"], rules["form-action"]) == (
        "'none'",
        "data:",
        "'none'",
        "'none'",
    )
    assert page.index(b"Content-Security-Policy") < page.index(b"<style>") < page.index(b"<script>")


def test_the_script_makes_no_markup_of_text() -> None:
    script = text_file("page.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|fetch\(|XMLHttp|import\(", script
    )
    assert "</script" not in script.lower()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – größer", "plain – größer"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x00\x1b[0m", "a\\x00\\x1b[0m"),
        ("line\nline", "line\nline"),
    ],
)
def test_what_cannot_be_seen_becomes_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("value", [3, 2.5, None])
def test_what_is_no_text_stays(value: Any) -> None:
    assert visible(value) is value


def test_lone_surrogates_can_be_written() -> None:
    assert visible("a\ud800b") == "a\\ud800b"


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
