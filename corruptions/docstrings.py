"""A corruption's docstring in full: what its author writes, and what the registry knows of every corruption."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING

from ..documentation import docstring

if TYPE_CHECKING:
    from .registry import Corruption, Parameter

_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_WIDTH = 116
_SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "References", "Examples")


def full_docstring(corruption: Corruption) -> str:
    """Return the docstring of a corruption's function with the sections that follow from its registration.

    The author writes the summary, and notes where they are needed. Parameters, draws and resources come from the registry; so do
    the returned array and the reference, unless the author writes those sections. A docstring with parameters is left as it is.
    """
    given = docstring(corruption.function)
    written, *parts = _HEADING.split(inspect.cleandoc(given))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    if "Parameters" in sections:
        return given
    known = {
        "Parameters": "\n".join(_entries(corruption)),
        "Returns": "(N, H, W, C) ndarray of uint8",
        "References": "\n".join(textwrap.wrap(f"{corruption.reference}.", _WIDTH)),
    }
    if "References" in sections:
        sections["References"] = f"{known['References']}\n{sections['References']}"
    sections = known | sections
    blocks = [written.strip(), *(f"{name}\n{'-' * len(name)}\n{sections[name].strip()}" for name in _SECTIONS if name in sections)]
    return textwrap.indent("\n\n".join(blocks), "    ").lstrip() + "\n    "


def _entries(corruption: Corruption) -> list[str]:
    """Return what stands under Parameters: images, keys, a level, columns and options, draws, resources."""
    gradual = corruption.gradual
    before = "" if gradual is None else "at the level before" if gradual.accumulates else "clean: levels do not accumulate"
    drawn = "" if corruption.deterministic else "; drawn otherwise"
    entries = [
        _entry("images : (N, H, W, C) ndarray of uint8, RGB or grey", before),
        _entry("keys : Keys", "not used: nothing is drawn" if corruption.deterministic and not corruption.draws else "of the random draws"),
    ]
    if gradual is not None:
        entries.append(_entry(f"level : int, 1..{gradual.most}", ""))
    entries += [_entry(f"{p.name} : {_kind(p)}", p.about) for p in corruption.parameters]
    entries += [_entry(f"{d.name} : optional", f"{d.about}; given, it serves every image{drawn}") for d in corruption.draws]
    optional = {name: "" if make_default is None else " : optional" for name, make_default in corruption.resources.items()}
    return entries + [_entry(f"{name}{kind}", "see the notes" if kind else "see above") for name, kind in optional.items()]


def _entry(heading: str, about: str) -> str:
    sentence = f"{about[:1].upper()}{about[1:]}." if about else ""
    return "\n".join([heading, *textwrap.wrap(sentence, _WIDTH, initial_indent="    ", subsequent_indent="    ")])


def _kind(parameter: Parameter) -> str:
    kind = f"{{{', '.join(map(repr, parameter.choices))}}}" if parameter.choices else parameter.kind.__name__
    if parameter.low is not None and parameter.high is not None:
        kind += f", {parameter.low:g}..{parameter.high:g}"
    return f"{kind}, default {parameter.default!r}" if parameter.option else kind
