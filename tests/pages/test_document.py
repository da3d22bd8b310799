"""Test the texts and the script of a page. Tests of builds and results check what their pages load."""

from __future__ import annotations

import re

from corruptset.pages.document import text_file, visible


def test_script_creates_no_markup_from_text():
    script = text_file("page.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|fetch\(|XMLHttp|import\(", script
    )
    assert "</script" not in script.lower()


def test_invisible_characters_are_escaped():
    for text, escaped in (
        ("plain – größer", "plain – größer"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x00\x1b[0m", "a\\x00\\x1b[0m"),
        ("line\nline", "line\nline"),
        ("a\ud800b", "a\\ud800b"),
        (2.5, 2.5),
        (None, None),
    ):
        assert visible(text) == escaped
