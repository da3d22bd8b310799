"""The page of results: every number of the scores is on it, figures have their table, and what a stranger writes comes
out as text.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import made_scores
import pytest
from html_tree import Node, read_html
from result_pages import full, scored, section, tables, write_scores

import corruptset
from corruptset.manifests.reader import DataSet
from corruptset.scores import report as home
from corruptset.scores.outcomes import Predictions
from corruptset.scores.records import Scores

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></svg><svg onload=alert(1)>",
    "' autofocus onfocus=alert(1) '",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.\u0007",
]


def numbers(value: Any) -> Iterator[float]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    for part in inner:
        yield from numbers(part)


def test_every_number_of_every_file_is_on_the_page(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    words = {
        word
        for _, rows in tables(page).values()
        for row in rows
        for cell in row
        for word in re.findall(r"-?[\d.]+", cell)
    }
    for one in scores:
        record = one.as_json()
        for name in ("schema_version", "resamples"):
            del record[name]
        missing = [v for v in numbers(record) if not {f"{100 * v:.2f}", f"{v:.3f}", f"{v:.10g}"} & words]
        assert not missing


def test_numbers_stand_with_their_model_and_set(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    shown = tables(page)
    headings, rows = shown["Every set and model in full"]
    assert headings == ["set", "model", "images", "accuracy %"]
    of_cell = {(row[0], row[1]): row[2:] for row in rows}
    for one in scores:
        for name, known in one.sets.items():
            low, high = known.interval or (0, 0)
            assert of_cell[name, one.model] == [
                "200",
                f"{100 * known.accuracy:.2f} {100 * low:.2f} to {100 * high:.2f}",
            ]
    headings, rows = shown["Scores that are one number, with intervals of 95 % over resamples of the images"]
    for one, row in zip(scores, rows, strict=True):
        low, high = one.intervals["maude"] or (0, 0)
        of_name = dict(zip(headings, row, strict=True))
        assert (of_name["model"], of_name["mAUDE %"]) == (
            one.model,
            f"{100 * one.maude:.2f} {100 * low:.2f} to {100 * high:.2f}",
        )
        assert of_name["RB-index"] == f"{one.rb_index:.3f}"


def test_notes_and_how_scores_were_made(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    notes = section(page, "notes")
    assert [node.text for node in notes.all("h3")] == ["All models", "net-a", "net-b", "net-c"]
    assert notes.text.count("PNG in place of JPEG.") == 1
    rows = tables(section(page, "made"))["The scores of each model"][1]
    assert [row[:7] for row in rows] == [[one.model, "200", "all", "alexnet", "1000", "0", "96"] for one in scores]
    assert all(re.fullmatch("[0-9a-f]{64}", row[7]) for row in rows)
    assert len({row[7] for row in rows}) == 3
    assert scores[0].digest in page.one("header").text


def test_the_hash_is_that_of_a_scores_file(data: DataSet, tmp_path: Path) -> None:
    _, (predicted,) = scored(data, "net")
    corruptset.score(data, predicted, out=tmp_path / "s")
    corruptset.report(data, [tmp_path / "s"], tmp_path / "r.html")
    said = tables(section(read_html(tmp_path / "r.html"), "made"))["The scores of each model"][1][0][7]
    assert said == hashlib.sha256((tmp_path / "s/scores.json").read_bytes()).hexdigest()


def test_only_what_is_there_is_shown(data: DataSet, tmp_path: Path) -> None:
    scores = Scores.model_validate(made_scores.bare("bare") | {"digest": data.digest})
    done = corruptset.report(data, [scores], tmp_path / "new/r.html")
    page = read_html(done.file)
    assert [node.attributes["id"] for node in page.all("section")] == ["summary", "sets", "failures", "notes", "made"]
    assert not list(page.all("figure"))
    assert (done.models, done.pictures, done.bytes) == (("bare",), 0, done.file.stat().st_size)


def test_headings_go_down_one_by_one_and_names_are_unique(
    everything: tuple[Node, list[Scores]], flips: tuple[Node, list[Predictions]]
) -> None:
    for page in (everything[0], flips[0]):
        depths = [int(node.tag[1]) for node in page.one("main").all("h1", "h2", "h3", "h4")]
        assert all(after <= before + 1 for before, after in pairwise([1, *depths]))
        ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
        assert len(ids) == len(set(ids))
        assert {node.attributes["href"][1:] for node in page.all("a", "use")} <= set(ids)
        regions = [node.attributes["aria-label"] for node in page.all("div") if node.attributes.get("role") == "region"]
        assert len(regions) == len(set(regions))
        assert all(
            node.attributes.get("tabindex") == "0"
            for node in page.all("div")
            if node.attributes.get("role") == "region"
        )
        labels = [node.attributes["aria-label"] for node in page.all("svg") if node.attributes.get("role") == "img"]
        assert all(labels)
        assert all(
            node.attributes.get("aria-hidden") or node.attributes.get("role") == "img" for node in page.all("svg")
        )


def assert_inert(page: Node) -> None:
    """Fail if a page fetches something, or runs something but its own script."""
    assert len(list(page.all("script"))) == len(list(page.all("style"))) == 1
    for node in page.all():
        assert not {
            name
            for name in node.attributes
            if name.startswith("on") or name in ("style", "src", "srcset", "action", "autofocus")
        }
        target = node.attributes.get("href", "#")
        assert (
            target.startswith("#")
            or target == "data:,"
            or re.fullmatch(r"data:image/jpeg;base64,[A-Za-z0-9+/=]+", target)
        )
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    for tag in ("script", "style"):
        (text,) = [part for part in next(iter(page.all(tag))).children if isinstance(part, str)]
        assert f"{tag}-src 'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:; ")


def test_nothing_is_fetched(everything: tuple[Node, list[Scores]], flips: tuple[Node, list[Predictions]]) -> None:
    for page in (everything[0], flips[0]):
        assert_inert(page)


def test_what_strangers_write_comes_out_as_text(data: DataSet, tmp_path: Path) -> None:
    payload = " | ".join(PAYLOADS)
    directory = tmp_path / "d"
    shutil.copytree(data.path, directory)
    manifest = json.loads((directory / "manifest.json").read_text("utf-8"))
    manifest["recipe"]["title"] = manifest["source"]["license"] = manifest["source"]["name"] = payload
    manifest["classes"] = [c | {"name": payload} for c in manifest["classes"]]
    (directory / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    rows = [json.loads(line) for line in (directory / "samples.jsonl").read_text("utf-8").splitlines()]
    rows = [row | {"id": f"{payload}{row['index']}", "class": payload} for row in rows]
    (directory / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (scores,), (predicted,) = scored(corruptset.open(directory), payload)
    record = scores.as_json() | {"notes": [payload], "condition": payload, "baseline": payload, "style": {payload: 0.5}}
    record["profiles"]["fade_black"]["first_below"]["0.9"]["change"] = payload
    corruptset.report(directory, [Scores.model_validate(record)], tmp_path / "r.html", predictions=[predicted])
    page = read_html(tmp_path / "r.html")
    assert_inert(page)
    for name in ("panels", "failures", "notes", "made", "sets"):
        text = section(page, name).text
        for payload in PAYLOADS:
            assert payload.replace("\u202e", "\\u202e").replace("\u0007", "\\x07") in text
    assert not {"\u202e", "\u0007"} & set((tmp_path / "r.html").read_text("utf-8"))


def test_the_same_bytes_wherever_the_files_lie(data: DataSet, tmp_path: Path) -> None:
    scores = full(data, "net-a", "net-b")
    pages = []
    for place in ("here", "there"):
        files = write_scores(tmp_path / place, scores)
        pages.append(corruptset.report(data.path, files, tmp_path / place / "report.html").file.read_bytes())
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]
    assert len(pages[0]) <= home.MOST_BYTES


def test_tables_are_cut_and_pictures_reduced_until_they_fit(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = full(data, "net-a", "net-b")
    monkeypatch.setattr(home, "CUTS", (20_000, 300))
    monkeypatch.setattr(home, "WORDS", 260_000)
    best = corruptset.report(data, scores, tmp_path / "best.html")
    monkeypatch.setattr(home, "MOST_BYTES", best.bytes - 3_000)
    done = corruptset.report(data, scores, tmp_path / "r.html")
    assert best.bytes - 20_000 < done.bytes <= best.bytes - 3_000
    page = read_html(done.file)
    rows = tables(page)["Every set and model in full"][1]
    assert len(rows) == 300 // 4
    assert f"{2 * 96 - len(rows)} more rows are not shown here" in section(page, "sets").text
    sides = {int(node.attributes["width"]) for node in page.all("image")}
    assert len(sides) == 1
    assert len(list(page.all("image"))) == done.pictures > 5
    assert done.pictures == len(
        {node.attributes["href"] for node in page.all("use") if "image-" in node.attributes["href"]}
    )
