"""Generate answers of participants, and read the data of a page."""

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


def answer_sheet(
    key: StudyKey, person: str, group: str, answer: Callable[[Trial], str | None] | None = None, **changed: Any
) -> dict[str, Any]:
    """Return the answers of one participant in the format of the page, which are all correct by default."""
    group_trials = [trial for trial in key.trials if trial.group == group]
    answers = [
        {"trial": t.id, "order": n, "answer": answer(t) if answer else t.category, "ms": 100 * n}
        for n, t in enumerate(group_trials, 1)
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
    """Write the answers of a participant to a file and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name or sheet['person']}.json"
    path.write_text(json.dumps(sheet), encoding="utf-8")
    return path


def page_data(page: str) -> dict[str, Any]:
    """Return the data that the script of a page reads."""
    (text,) = re.findall(r'<script type="application/json" id="study">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return data
