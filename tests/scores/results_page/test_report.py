"""Test the numbers, figures and tables of results pages, and the escaping of untrusted text."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from base64 import b64encode

import example_scores
import pytest
from html_tree import read_html
from result_pages import full_scores, random_scores, report_page, section, tables

import corruptset
from corruptset.scores import report as home
from corruptset.scores.scores_file import write_scores

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></svg><svg onload=alert(1)>",
    "' autofocus onfocus=alert(1) '",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.\u0007",
]
SUMMARY = "Scores of the whole dataset, with 95 % confidence intervals from the bootstrap"


def numbers(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []
    return own + [number for part in inner for number in numbers(part)]


def test_every_number_has_model_and_set(full_report):
    page, scores = full_report
    page_tables = tables(page)
    words = {
        w for _, rows in page_tables.values() for row in rows for cell in row for w in re.findall(r"-?[\d.]+", cell)
    }
    headings, rows = page_tables["Every set and model in full"]
    assert headings == ["set", "model", "images", "accuracy %"]
    of_cell = {(row[0], row[1]): row[2:] for row in rows}
    summary = {row[0]: dict(zip(page_tables[SUMMARY][0], row, strict=True)) for row in page_tables[SUMMARY][1]}
    for score in scores:
        record = {name: value for name, value in score.as_json().items() if name not in ("schema_version", "resamples")}
        assert not [v for v in numbers(record) if not {f"{100 * v:.2f}", f"{v:.3f}", f"{v:.10g}"} & words]

        def with_ends(value, ends):
            return "{:.2f} {:.2f} to {:.2f}".format(*(100 * v for v in (value, *ends)))

        for name, known in score.sets.items():
            assert of_cell[name, score.model] == ["200", with_ends(known.accuracy, known.interval)]
        assert summary[score.model]["mAUDE %"] == with_ends(score.get("maude"), score.interval("maude"))
        assert summary[score.model]["RB-index"] == f"{score.get('rb_index'):.3f}"


def test_page_has_notes_and_describes_scoring(full_report, data, tmp_path):
    page, scores = full_report
    notes = section(page, "notes")
    assert [node.text for node in notes.all("h3")] == ["All models", "net-a", "net-b", "net-c"]
    assert notes.text.count("PNG in place of JPEG.") == 1
    rows = tables(section(page, "made"))["The scores of each model"][1]
    assert [row[:7] for row in rows] == [[score.model, "200", "all", "alexnet", "1000", "0", "96"] for score in scores]
    assert len({row[7] for row in rows}) == 3
    assert scores[0].digest in page.one("header").text
    (bare,) = example_scores.validate_scores(example_scores.minimal_scores("bare", digest=data.digest))
    write_scores(bare, tmp_path)
    result = corruptset.report(data, [tmp_path], tmp_path / "new/r.html")
    page = read_html(result.file)
    message = tables(section(page, "made"))["The scores of each model"][1][0][-1]
    assert message == hashlib.sha256((tmp_path / "scores.json").read_bytes()).hexdigest()
    assert [node.attributes["id"] for node in page.all("section")] == ["summary", "sets", "failures", "notes", "made"]
    assert not list(page.all("figure"))
    assert (result.models, result.images, result.bytes) == (("bare",), 0, result.file.stat().st_size)


def test_chart_lines_match_table(full_report):
    page, scores = full_report
    checked = 0
    for name, caption, across in [
        ("severity", "Error by corruption and severity", "severity"),
        ("profiles", "Profiles: accuracy", "level"),
    ]:
        _, rows = tables(section(page, name))[caption]
        charts = next(node for node in section(page, name).all("div") if node.attributes["class"] == "charts")
        for chart in charts.all("figure"):
            title = chart.one("figcaption").text
            expected = [[float(cell) for cell in row[1:]] for row in rows if row[0] == title]
            lines = [path for path in chart.all("path") if path.attributes["class"].startswith("line ")]
            assert len({line.attributes["class"] for line in lines}) == len(lines) == len(scores)
            for number, line in enumerate(lines, 1):
                heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line.attributes["d"])]
                plotted = [100 * (138 - y) / 128 for y in heights]
                assert plotted == pytest.approx([row[number] for row in expected], abs=0.06)
                checked += len(plotted)
            label = chart.one("svg").attributes["aria-label"]
            course = rf"^{title}: .*against {across}. net-a begins at ([\d.]+) at 0 and \w+ to ([\d.]+) at (\d+); net-b"
            numbers = [float(number) for number in re.search(course, label).groups()]
            assert numbers == pytest.approx([expected[0][1], expected[-1][1], expected[-1][0]], abs=0.06)
    assert checked == 3 * (20 * 6 + 6 * 31)


def test_every_figure_has_section_with_table(full_report):
    page, scores = full_report
    sections, models = {node.attributes["id"]: node for node in page.all("section")}, [score.model for score in scores]
    names = (
        "heat summary maude over-sets severity profiles two-factor orders fragile style sets panels failures notes made"
    )
    assert list(sections) == names.split()
    for name in ("severity", "profiles", "two-factor", "fragile"):
        assert [item.text for item in sections[name].one("ul", class_="legend").all("li")] == models
        assert list(sections[name].all("figure"))
        assert list(sections[name].all("table"))
    bars = [node for node in sections["maude"].one("svg").all("path") if node.attributes["class"].startswith("bar ")]
    assert len(bars) == len(scores)
    heat = page.one("table", class_="orders heat")
    names = [cell.text for cell in heat.one("thead").all("th")][1:]
    for row, item in zip(heat.one("tbody").all("tr"), scores, strict=True):
        assert row.one("th").text == item.model
        cells = dict(zip(names, row.all("td"), strict=True))
        error = 100 * (1 - sum(item.sets[f"fog/{severity}"].accuracy for severity in range(1, 6)) / 5)
        assert (cells["fog"].text, cells["fog"].attributes["class"]) == (f"{error:.0f}", f"heat-{int(error / 100 * 6)}")
        fallen = item.profiles["fade_black"].accuracy[1:]
        assert cells["fade_black"].text == f"{100 - 100 * sum(fallen) / len(fallen):.0f}"


def test_quadrants_and_orders_match_tables(full_report):
    page, scores = full_report
    chart = section(page, "two-factor").one("figure")
    for score in scores:
        assert (
            f"{score.model} at {score.get('two_factor.cv_percent'):.2f} and"
            in chart.one("svg").attributes["aria-label"]
        )
        stages, effects = tables(section(page, "orders"))[score.model]
        assert stages[1:] == [row[0] for row in effects] == sorted(stages[1:])
        cells = {(row[0], stage): cell for row in effects for stage, cell in zip(stages[1:], row[1:], strict=True)}
        for effect in score.order_effects:
            first, second = effect.first.split("+")
            both = float(cells[first, second]), -float(cells[second, first])
            assert both == pytest.approx([100 * effect.difference] * 2, abs=0.006)


def assert_inert(page):
    """Fail if a page loads anything, or runs a script other than its own."""
    forbidden = {"style", "src", "srcset", "action", "autofocus"}
    for node in page.all():
        assert not {name for name in node.attributes if name.startswith("on") or name in forbidden}
        target = node.attributes.get("href", "#")
        assert target.startswith("#") or re.fullmatch(r"data:(,|image/jpeg;base64,[A-Za-z0-9+/=]+)", target)
    rules = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'") | {"img-src": "data:"}
    for tag in ("script", "style"):
        (text,) = page.one(tag).children
        assert not re.search(r"@import|url\(", text)
        rules[f"{tag}-src"] = f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert dict(rule.strip().split(" ", 1) for rule in policy.split(";")) == rules


def test_pages_are_inert_and_link_to_their_content(full_report, flips_report):
    for page in (full_report[0], flips_report[0]):
        assert_inert(page)
        ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
        assert len(ids) == len(set(ids))
        assert {node.attributes["href"][1:] for node in page.all("a", "use")} <= set(ids)


def test_foreign_text_is_escaped(data, tmp_path):
    payload, directory = " | ".join(PAYLOADS), tmp_path / "d"
    shutil.copytree(data.path, directory)
    manifest = json.loads((directory / "manifest.json").read_text("utf-8"))
    manifest["recipe"]["title"] = manifest["source"]["license"] = manifest["source"]["name"] = payload
    manifest["classes"] = [c | {"name": payload} for c in manifest["classes"]]
    (directory / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    rows = [json.loads(line) for line in (directory / "samples.jsonl").read_text("utf-8").splitlines()]
    rows = [row | {"id": f"{payload}{row['index']}", "class": payload} for row in rows]
    (directory / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (scores,), predictions = random_scores(corruptset.open(directory), payload)
    record = scores.as_json() | {"notes": [payload], "condition": payload, "baseline": payload}
    record["scores"] += example_scores.score_values({f"style.{payload}": 0.5})
    record["profiles"]["fade_black"]["first_below"]["0.9"]["change"] = payload
    page = report_page(directory, example_scores.validate_scores(record), tmp_path / "r.html", predictions=predictions)
    assert_inert(page)
    for name in ("panels", "failures", "notes", "made", "sets"):
        text = section(page, name).text
        assert all(item.replace("\u202e", "\\u202e").replace("\u0007", "\\x07") in text for item in PAYLOADS)
    assert not {"\u202e", "\u0007"} & set((tmp_path / "r.html").read_text("utf-8"))


def test_bytes_are_independent_of_file_locations(data, tmp_path):
    pages = []
    for place in ("here", "there"):
        files = example_scores.write_scores(tmp_path / place, *full_scores(data, "net-a", "net-b"))
        pages.append(corruptset.report(data.path, files, tmp_path / place / "report.html").file.read_bytes())
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


def test_long_tables_are_shortened_and_many_images_reduced(data, tmp_path, monkeypatch):
    scores = full_scores(data, "net-a", "net-b")
    best = list(report_page(data, scores, tmp_path / "best.html").all("image"))
    monkeypatch.setattr(home, "MAX_CELLS", 300)
    monkeypatch.setattr(home, "IMAGE_BYTES", 100_000)
    result = corruptset.report(data, scores, tmp_path / "r.html")
    page = read_html(result.file)
    rows = tables(page)["Every set and model in full"][1]
    assert len(rows) == 300 // 4
    assert f"{2 * 96 - len(rows)} more rows are not shown here" in section(page, "sets").text
    images = list(page.all("image"))
    assert len({int(node.attributes["width"]) for node in images}) == 1
    assert int(images[0].attributes["width"]) <= int(best[0].attributes["width"])
    used = {node.attributes["href"] for node in page.all("use") if "image-" in node.attributes["href"]}
    assert len(images) == len(used) == result.images > 5
