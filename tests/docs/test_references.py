"""Papers have the titles of the one list, wherever they are cited: in modules, tables, recipes, pages and docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from corruptset.references import REFERENCES

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "api",
    "benchmarks",
    "cli",
    "corruptions",
    "docs",
    "generate",
    "manifests",
    "models",
    "scores",
    "README.md",
    "CITATION.cff",
)
SUFFIXES = {".py", ".md", ".toml", ".html", ".ipynb", ".cff"}
AUTHOR = r"(Hendrycks|Mu|Srivastava|Dai|Swingler|Madry|Mintun)\b"
QUOTED = re.compile(AUTHOR + r'[^".;|]{0,60}?\b(20\d\d)\b[),:]?[^".;|]{0,12}?["“]([A-Z][^"”]{14,})["”]')
TITLE = r"((?:[A-Z][\w-]*|A|[Ii]n|[Oo]n|of|for|to|and|the|[-:]| )+)"
UNQUOTED = re.compile(AUTHOR + r"[^.;|\d]{0,60}?\b(20\d\d), " + TITLE)


def titles(surname: str, year: str) -> list[str]:
    return [r.title for r in REFERENCES if r.authors.startswith(surname) and r.year == int(year)]


def wrong_titles(text: str) -> list[str]:
    text = re.sub(r"\s+(?:# ?)?", " ", text)
    wrong = [m[0] for m in QUOTED.finditer(text) if m[3] not in titles(m[1], m[2])]
    named = [m for m in UNQUOTED.finditer(text) if len(m[3].split()) >= 5]
    return wrong + [
        m[0] for m in named if not any(m[3].startswith(title.partition(",")[0]) for title in titles(m[1], m[2]))
    ]


def files() -> list[Path]:
    found = [p for room in ROOMS for p in ([ROOT / room] if (ROOT / room).is_file() else (ROOT / room).rglob("*"))]
    return [p for p in found if p.suffix in SUFFIXES and "records" not in p.relative_to(ROOT).parts]


@pytest.mark.parametrize("room", ROOMS)
def test_titles_are_the_lists(room):
    wrong = {
        p.relative_to(ROOT).as_posix(): bad
        for p in files()
        if p.relative_to(ROOT).parts[0] == room and (bad := wrong_titles(p.read_text("utf-8")))
    }
    assert not wrong


def test_invented_titles_are_noticed():
    assert wrong_titles('Swingler 2022, "Degrading images to measure the robustness of image recognition".')
    assert not wrong_titles(f'Swingler 2022, "{REFERENCES[-1].title}".')
    assert wrong_titles("Swingler 2022, Degrading Images To Measure Robustness, NCTA")


def test_the_docs_have_the_whole_list():
    page = (ROOT / "docs/citing.md").read_text("utf-8")
    assert [line[2:] for line in page.splitlines() if line.startswith("* ")] == [
        f"{reference}." for reference in REFERENCES
    ]
