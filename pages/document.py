"""Render HTML pages as single files, which contain their style sheet and their script.

A page loads nothing from the network and works offline. The names in a dataset are not trusted, so templates escape
everything that they write. Invisible characters such as direction marks are shown as escape sequences. A content
security policy allows only the page's own script.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..quantities import plural, size

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = "corruptset.pages"
"""The package whose folder ``templates/`` contains the layout and the macros of all pages."""


def render(template: str, package: str, **values: Any) -> bytes:
    """Return the bytes of a page in UTF-8. Equal values give equal bytes.

    Parameters
    ----------
    template : str
        A file in the package's folder ``templates/`` that extends ``base.html``. If the folder contains ``own.css`` or
        ``own.js``, these are added to the style sheet and the script of all pages.
    package : str
        The name of the package that contains the template, such as ``corruptset.generate.page``.
    **values
        The variables of the template. All values are escaped, except for values of the type `markupsafe.Markup`.
    """
    text: str = _environment(package).get_template(template).render(values)
    return text.encode()


def text_file(name: str, package: str = TEMPLATES) -> str:
    """Return the text of a file in a package's folder ``templates/``."""
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def visible(value: object) -> object:
    """Return a value with invisible characters replaced by escape sequences such as ``\\u202e``.

    Values that are not text, and text that is already HTML, are returned unchanged.
    """
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "backslashreplace").decode() for c in value
    )


def breakable(name: str) -> Markup:
    """Return a name as HTML in which a line may break after ``_``, ``+``, ``/`` and ``.``, but not within a word."""
    from markupsafe import Markup

    return Markup(re.sub(r"([_+/]|\.(?=[a-z]))(?=.)", r"\1<wbr>", escape(str(visible(name)))))


def source_hash(text: str) -> str:
    """Return the hash with which a content security policy allows an inline script or style sheet."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment(package: str) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(TEMPLATES)]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = resources.files(package) / "templates"
    own = [text_file(name, package) if (folder / name).is_file() else "" for name in ("own.css", "own.js")]
    style, script = text_file("page.css") + own[0], text_file("page.js") + own[1]
    policy = (
        f"default-src 'none'; img-src data:; style-src {source_hash(style)}; script-src {source_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    environment.filters.update(plural=plural, size=size, breakable=breakable)
    environment.globals.update(style=Markup(style), script=Markup(script), policy=policy)
    return environment
