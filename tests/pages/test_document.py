"""Test the texts and the script of a page. Tests of builds and results check what their pages load."""

from __future__ import annotations

import re

from corruptset.pages.document import text_file, visible


def test_the_script_makes_no_markup_of_text():
    script = text_file("page.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|fetch\(|XMLHttp|import\(", script
    )
    assert "</script" not in script.lower()


def test_what_cannot_be_seen_becomes_an_escape():
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
