"""Escape untrusted text, such as names of models and titles, in generated Markdown."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from .report import printable

if TYPE_CHECKING:
    from jinja2 import Template


def markdown_text(text: str) -> str:
    """Return text escaped for a line or a table cell of Markdown.

    An underscore inside a word is not escaped, because Markdown does not interpret it.

    Examples
    --------
    >>> markdown_text("jpeg_compression | *x*")
    'jpeg_compression \\\\| \\\\*x\\\\*'
    """
    escaped = re.sub(r"([\\`*\[\]<>|#~&])", r"\\\1", printable(" ".join(text.split())))
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", escaped)


def markdown_code(text: str) -> str:
    """Return text as inline code. Backticks and vertical bars in the text are replaced.

    Examples
    --------
    >>> markdown_code("frost`1|2")
    "`frost'1/2`"
    """
    return f"`{printable(' '.join(text.split())).replace('`', chr(39)).replace('|', '/')}`"


def one_line(text: object) -> str:
    """Return text as one line, for tables and BagIt tag files."""
    return " ".join(str(text).split())


def render_card(template: str, **words: Any) -> str:
    """Return a README rendered from a Jinja template.

    The template can use the filters ``text``, ``code``, ``line`` and ``json`` (with sorted keys).
    """
    return _compile(template).render(words)


@cache
def _compile(template: str) -> Template:
    """Compile a template. The result is cached, because compiling takes longer than the other work for a card."""
    from jinja2 import Environment

    cards = Environment(trim_blocks=True, keep_trailing_newline=True)
    json_text = lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True)  # noqa: E731
    cards.filters |= {"text": markdown_text, "code": markdown_code, "line": one_line, "json": json_text}
    return cards.from_string(template)
