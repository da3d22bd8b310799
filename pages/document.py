"""A page: a template, its style and its script become one file.

It fetches nothing, and runs nothing but its own script.

Text of a data set comes from strangers. Everything that a template writes out is escaped, and what would not be seen,
or would turn the text around it (controls, marks of direction), is written as an escape. The browser is told to run the
page's own script alone, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..quantities import plural, size

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = "corruptset.pages"
"""The package whose folder ``templates/`` has the layout and the macros that all pages share."""


def render(template: str, package: str, **values: Any) -> bytes:
    """Return a page as bytes: the same for the same values.

    Parameters
    ----------
    template : str
        A file of the package's folder ``templates/``; it extends ``base.html``. An ``own.css`` and an ``own.js`` beside
        it are added to the style and the script of all pages.
    package : str
        Such as ``corruptset.generate.page``.
    **values
        What the template writes out. Only a value that says by its type that it is HTML (`markupsafe.Markup`) is not
        escaped.
    """
    text: str = _environment(package).get_template(template).render(values)
    return text.encode()


def text_file(name: str, package: str = TEMPLATES) -> str:
    """Return a file of a package's folder ``templates/`` as text."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def visible(value: object) -> object:
    """Return a value as a template writes it out.

    Of text, all that cannot be seen becomes an escape such as ``\\u202e``.
    """
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "backslashreplace").decode() for c in value
    )


def source_hash(text: str) -> str:
    """Return how a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment(package: str) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = ChoiceLoader([PackageLoader(package), PackageLoader(TEMPLATES)])
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = resources.files(package) / "templates"
    own = [text_file(name, package) if (folder / name).is_file() else "" for name in ("own.css", "own.js")]
    # a style needs no indentation
    style, script = (
        re.sub(r"\n[ \t\n]+", "\n", text_file("page.css") + own[0]).strip() + "\n",
        text_file("page.js") + own[1],
    )
    policy = (
        f"default-src 'none'; img-src data:; style-src {source_hash(style)}; script-src {source_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    environment.filters.update(plural=plural, size=size)
    environment.globals.update(style=Markup(style), script=Markup(script), policy=policy)
    return environment
