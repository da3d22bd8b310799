"""Text of somebody else's in Markdown that we write: names of models, sets, groups, titles."""

from __future__ import annotations

import re

from .report import printable


def markdown_text(text: str) -> str:
    """Return text as Markdown takes it in a line or a cell: an underscore inside a word needs no backslash.

    Examples
    --------
    >>> markdown_text("jpeg_compression | *x*")
    'jpeg_compression \\\\| \\\\*x\\\\*'
    """
    escaped = re.sub(r"([\\`*\[\]<>|#~&])", r"\\\1", printable(" ".join(text.split())))
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", escaped)


def markdown_code(text: str) -> str:
    """Return text between backticks, which it may not hold itself, and in a cell no bar either.

    Examples
    --------
    >>> markdown_code("frost`1|2")
    "`frost'1/2`"
    """
    return f"`{printable(' '.join(text.split())).replace('`', chr(39)).replace('|', '/')}`"
