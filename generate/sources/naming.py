"""Names: from a path to a sample id, and which names cannot be ids."""

from __future__ import annotations

import os
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...manifests.records.fields import DRIVE
from .source import stored_path

CONTROLS = ("Cc", "Zl", "Zp")
"""Unicode categories of characters that break lines and terminals."""
MAX_NAME_BYTES = 240
"""Of one component in UTF-8: file systems take 255, and a suffix is added while an image is written."""
MAX_ID_BYTES = 1024


def normal(text: str) -> str:
    """Return a text in Unicode's normal form C."""
    return unicodedata.normalize("NFC", text)


def sample_id(path: str) -> str:
    """Return the id of an image: its POSIX path without the suffix, in Unicode's normal form C.

    Examples
    --------
    >>> sample_id("n01440764/ILSVRC2012_val_00000293.JPEG"), sample_id("a/x.tar.png")
    ('n01440764/ILSVRC2012_val_00000293', 'a/x.tar')
    >>> sample_id("cafe\\u0301/1.png") == "caf\\xe9/1"
    True
    """
    return normal(path.rpartition(".")[0])


def shown(path: str) -> str:
    """Return a path as text that a terminal and a manifest can take: bytes that are no UTF-8 and control characters
    escaped.

    Examples
    --------
    >>> shown("a/tab\\there.png")
    'a/tab\\\\there.png'
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in CONTROLS else c for c in text)


def name_problem(path: str) -> str | None:
    """Return why a path cannot be turned into an id, or None.

    Examples
    --------
    >>> name_problem("a/b c.png") is None, name_problem("a/b\\tc.png") is None
    (True, False)
    >>> name_problem("c:/b.png"), name_problem("12:30/b.png")
    ('begins with c:, which is a drive elsewhere: rename it', None)
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "has a name that is not UTF-8: rename it"
    if odd := sorted({c for c in path if unicodedata.category(c) in CONTROLS}):
        return f"has control characters in its name ({', '.join(f'U+{ord(c):04X}' for c in odd)}): rename it"
    if "\\" in path:
        return "has a backslash in its name, which is a folder's separator elsewhere: rename it"
    if DRIVE.match(path):
        return f"begins with {path[:2]}, which is a drive elsewhere: rename it"
    if len(normal(path).encode()) > MAX_ID_BYTES or any(
        len(part.encode()) > MAX_NAME_BYTES for part in normal(path).split("/")
    ):
        return f"has a name longer than {MAX_NAME_BYTES} bytes (a path longer than {MAX_ID_BYTES}): shorten it"
    return None


EQUAL = "has the same name as {} on disks that ignore case or Unicode forms: rename one"


def find_equal(named: Mapping[str, str], reason: str = EQUAL) -> dict[str, str]:
    """Return path -> reason, with the other paths in it, for those whose names are equal under case folding."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path, name in named.items():
        groups[_folded(name)].append(path)
    shared = [group for group in groups.values() if len(group) > 1]
    return {path: reason.format(", ".join(p for p in group if p != path)) for group in shared for path in group}


def find_clashes(named: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """Return path -> reason for images that would have one id, or one place on a disk.

    Parameters
    ----------
    named : sequence of (id, class folder, path)
    """
    stored = {path: stored_path(identity, folder) for identity, folder, path in named}
    folders = {_folded(place[:i]) for place in stored.values() for i, letter in enumerate(place) if letter == "/"}
    covered = "would be stored under the name of a folder that other images need: rename the folder or the image"
    same = "has the same id as {} (without suffix, and on disks that ignore case): rename all but one"
    problems = {
        path: covered
        for path, place in stored.items()
        if not folders.isdisjoint((_folded(place) + ".jpeg", _folded(place) + ".png"))
    }
    return problems | find_equal(stored, same) | find_equal({path: identity for identity, _, path in named}, same)


def _folded(name: str) -> str:
    return normal(normal(name).casefold())
