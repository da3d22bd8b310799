"""Text of somebody else's in Markdown that we write: names of models, sets, groups, titles."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from .report import printable

if TYPE_CHECKING:
    from jinja2 import Template


def markdown_text(text: str) -> str:
    """Return text as Markdown takes it in a line or a cell.

    An underscore inside a word needs no backslash.

    Examples
    --------
    >>> markdown_text("jpeg_compression | *x*")
    'jpeg_compression \\\\| \\\\*x\\\\*'
    """
    escaped = re.sub(r"([\\`*\[\]<>|#~&])", r"\\\1", printable(" ".join(text.split())))
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", escaped)


def markdown_code(text: str) -> str:
    """Return text between backticks, without backticks and bars of its own.

    Examples
    --------
    >>> markdown_code("frost`1|2")
    "`frost'1/2`"
    """
    return f"`{printable(' '.join(text.split())).replace('`', chr(39)).replace('|', '/')}`"


def one_line(text: object) -> str:
    """Return text as one line, which breaks no table and no tag file."""
    return " ".join(str(text).split())


def filled(template: str, **words: Any) -> str:
    """Return a card from its template.

    The filters of this module are text, code, line, and json, with sorted keys.
    """
    return _compiled(template).render(words)


@cache
def _compiled(template: str) -> Template:
    """Return a compiled template, because compiling takes longer than the rest of the card."""
    from jinja2 import Environment

    cards = Environment(trim_blocks=True, keep_trailing_newline=True)
    json_text = lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True)  # noqa: E731
    cards.filters |= {"text": markdown_text, "code": markdown_code, "line": one_line, "json": json_text}
    return cards.from_string(template)
