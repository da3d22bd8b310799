"""Papers have the titles of the one list, wherever they are cited: in modules, tables, recipes, pages and docs."""

from __future__ import annotations

import re
from pathlib import Path

from corruptset.references import REFERENCES

ROOT = Path(__file__).resolve().parents[2]
PLACES = "api benchmarks cli corruptions docs generate manifests scores README.md CITATION.cff".split()
SUFFIXES = {".py", ".md", ".toml", ".html", ".ipynb", ".cff"}
AUTHOR = r"(Hendrycks|Mu|Srivastava|Dai|Swingler|Madry|Mintun)\b"
QUOTED = re.compile(AUTHOR + r'[^".;|]{0,60}?\b(20\d\d)\b[),:]?[^".;|]{0,12}?["“]([A-Z][^"”]{14,})["”]')
TITLE = r"((?:[A-Z][\w-]*|A|[Ii]n|[Oo]n|of|for|to|and|the|[-:]| )+)"
UNQUOTED = re.compile(AUTHOR + r"[^.;|\d]{0,60}?\b(20\d\d), " + TITLE)


def titles(surname, year):
    return [r.title for r in REFERENCES if r.authors.startswith(surname) and r.year == int(year)]


def wrong_titles(text):
    text = re.sub(r"\s+(?:# ?)?", " ", text)
    problems = [m[0] for m in QUOTED.finditer(text) if m[3] not in titles(m[1], m[2])]
    references = [m for m in UNQUOTED.finditer(text) if len(m[3].split()) >= 5]
    return problems + [
        m[0] for m in references if not any(m[3].startswith(title.partition(",")[0]) for title in titles(m[1], m[2]))
    ]


def test_titles_match_reference_list():
    result = [path for place in PLACES for path in (ROOT / place, *(ROOT / place).rglob("*"))]
    texts = {
        path: path.read_text("utf-8") for path in result if path.suffix in SUFFIXES and "records" not in path.parts
    }
    assert len(texts) > 200
    assert {path: problems for path, text in texts.items() if (problems := wrong_titles(text))} == {}


def test_invented_titles_are_detected():
    assert wrong_titles('Swingler 2022, "Degrading images to measure the robustness of image recognition".')
    assert not wrong_titles(f'Swingler 2022, "{REFERENCES[-1].title}".')
    assert wrong_titles("Swingler 2022, Degrading Images To Measure Robustness, NCTA")


def test_docs_contain_complete_list():
    page = (ROOT / "docs/citing.md").read_text("utf-8")
    assert [line[2:] for line in page.splitlines() if line.startswith("* ")] == [
        f"{reference}." for reference in REFERENCES
    ]
