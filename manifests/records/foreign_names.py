"""Recognise names that appear when datasets are copied: system files, and names in a different Unicode form."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

SYSTEM_FILES = (".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini")


def is_system_file(path: str) -> bool:
    """Return whether a path belongs to a file that macOS or Windows creates in folders, such as ``.DS_Store``.

    Examples
    --------
    >>> [is_system_file(path) for path in ("a/.DS_Store", "a/._cat.png", "Thumbs.db", "a/cat.png", ".hidden")]
    [True, True, True, False, False]
    """
    name = path.rpartition("/")[2]
    return name.startswith("._") or name.lower() in SYSTEM_FILES


def unicode_variants(missing: Iterable[str], unexpected: Iterable[str]) -> dict[str, str]:
    """Return a mapping from missing to existing paths, for paths that exist in a different Unicode form.

    Examples
    --------
    >>> print(ascii(unicode_variants(["caf\\u00e9/1.png", "b.png"], ["cafe\\u0301/1.png", "c.png"])))
    {'caf\\xe9/1.png': 'cafe\\u0301/1.png'}
    """
    found = {unicodedata.normalize("NFC", path): path for path in unexpected}
    pairs = ((path, found.get(unicodedata.normalize("NFC", path))) for path in missing)
    return {path: other for path, other in pairs if other is not None and other != path}


def unicode_advice(recorded: str) -> str:
    """Return advice on files whose names have a different Unicode form than the recorded path."""
    form = "nfc" if unicodedata.is_normalized("NFC", recorded) else "nfd"
    return (
        "This happens to names with accents when a dataset is copied or unpacked on macOS. Copy it again with a "
        f"program that keeps names, or rename the files: convmv -f utf8 -t utf8 --{form} --notest -r DIR"
    )


def exists_in_other_form(path: Path) -> bool:
    """Return whether a missing file exists under a name in a different Unicode form."""
    folder = Path(path.anchor) if path.is_absolute() else Path()
    other = False
    for name in path.relative_to(folder).parts:
        if os.path.lexists(folder / name):
            folder /= name
            continue
        try:
            names = os.listdir(folder)
        except OSError:
            return False
        match = unicode_variants([name], names)
        if not match:
            return False
        folder, other = folder / match[name], True
    return other
