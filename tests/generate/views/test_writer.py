"""Files of a view: links to the build's files, or copies."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import layouts
import pytest
from layouts import PLAIN, export


def test_where_links_cannot_be_files_are_copied(jpeg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    export("imagenet-c", jpeg, tmp_path / "linked", sets=PLAIN)
    monkeypatch.setattr(os, "link", refuse)
    done = export("imagenet-c", jpeg, tmp_path / "copied", sets=PLAIN)
    assert done.linked == 0
    assert layouts.files_of(tmp_path / "linked") == layouts.files_of(tmp_path / "copied")
    assert all(p.stat().st_nlink == 1 for p in (tmp_path / "copied").rglob("*.JPEG"))
