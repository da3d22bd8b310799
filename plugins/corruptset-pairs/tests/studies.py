"""Studies with people whose answers a test makes up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corruptset_pairs.study_records import StudyKey, Trial

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "]]><!--",
    "\u202etxt.exe",
    "{{ 7*7 }}",
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "a\x1b[2J",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
]


def sheet_of(
    key: StudyKey, person: str, group: str, says: Callable[[Trial], str | None] | None = None, **changed: Any
) -> dict[str, Any]:
    """Return the answers of one person, as the page saves them; by default all are right."""
    shown = [trial for trial in key.trials if trial.group == group]
    answers = [
        {"trial": t.id, "order": n, "answer": says(t) if says else t.category, "ms": 100 * n}
        for n, t in enumerate(shown, 1)
    ]
    sheet = {
        "schema_version": 1,
        "study": key.study,
        "person": person,
        "group": group,
        "started": "2026-11-22T10:00:00.000Z",
        "finished": True,
        "pixel_ratio": 1,
        "answers": answers,
    }
    return sheet | changed


def save(folder: Path, sheet: dict[str, Any], name: str = "") -> Path:
    """Write a person's answers and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name or sheet['person']}.json"
    path.write_text(json.dumps(sheet), encoding="utf-8")
    return path


def data_of(page: str) -> dict[str, Any]:
    """Return what the page's script reads."""
    (text,) = re.findall(r'<script type="application/json" id="study">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(text)
    return found
