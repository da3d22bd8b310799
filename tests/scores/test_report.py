"""The page of results: every number of the scores is on it, figures have their table, and what a stranger writes comes out as text."""

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

import layouts
import made_scores
import numpy as np
import pytest
from html_tree import Node, read_html
from result_pages import build, full, picture, scored, section, tables, write_scores

import corruptset
from corruptset.errors import ParameterError, ScoreError
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


@pytest.fixture(scope="module")
def data(shared: layouts.Shared) -> DataSet:
    return build(shared)


@pytest.fixture(scope="module")
def everything(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Node, list[Scores]]:
    """A page of three models with something of everything."""
    scores = full(data, "net-a", "net-b", "net-c")
    out = tmp_path_factory.mktemp("report") / "report.html"
    corruptset.report(data, scores, out)
    return read_html(out), scores


@pytest.fixture(scope="module")
def flips(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Node, list[Predictions]]:
    """A page of two models with their predictions."""
    scores, predictions = scored(data, "net-a", "net-b")
    out = tmp_path_factory.mktemp("report") / "report.html"
    corruptset.report(data, scores, out, predictions=predictions)
    return read_html(out), predictions


def numbers(value: Any) -> Iterator[float]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    for part in inner:
        yield from numbers(part)


def test_every_number_of_every_file_is_on_the_page(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    words = {word for _, rows in tables(page).values() for row in rows for cell in row for word in re.findall(r"-?[\d.]+", cell)}
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
            assert of_cell[name, one.model] == ["200", f"{100 * known.accuracy:.2f} {100 * low:.2f} to {100 * high:.2f}"]
    headings, rows = shown["Scores that are one number, with intervals of 95 % over resamples of the images"]
    for one, row in zip(scores, rows, strict=True):
        low, high = one.intervals["maude"] or (0, 0)
        of_name = dict(zip(headings, row, strict=True))
        assert (of_name["model"], of_name["mAUDE %"]) == (one.model, f"{100 * one.maude:.2f} {100 * low:.2f} to {100 * high:.2f}")
        assert of_name["RB-index"] == f"{one.rb_index:.3f}"


def test_lines_of_charts_lie_where_their_table_says(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    checked = 0
    for name, caption, across in [
        ("severity", "Error by corruption and severity", "severity"),
        ("profiles", "Profiles: accuracy", "level"),
    ]:
        _, rows = tables(section(page, name))[caption]
        for chart in list(
            section(page, name).one("div", class_="charts").all("figure") if name == "severity" else charts_of_accuracy(page)
        ):
            title = chart.one("figcaption").text
            wanted = [row for row in rows if row[0] == title]
            lines = [path for path in chart.all("path") if path.attributes["class"].startswith("line ")]
            assert len(lines) == len(scores)
            assert len({line.attributes["class"] for line in lines}) == len(scores)
            for number, line in enumerate(lines):
                heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line.attributes["d"])]
                drawn = [100 * (138 - y) / 128 for y in heights]
                assert drawn == pytest.approx([float(row[2 + number]) for row in wanted], abs=0.06)
                checked += len(drawn)
            label = chart.one("svg").attributes["aria-label"]
            assert f"{title}: " in label
            told = re.search(rf"against {across}. net-a begins at ([\d.]+) at 0 and \w+ to ([\d.]+) at (\d+); net-b", label)
            assert told is not None
            assert [float(told[1]), float(told[2])] == pytest.approx([float(wanted[0][2]), float(wanted[-1][2])], abs=0.06)
            assert told[3] == wanted[-1][1]
    assert checked == 3 * (20 * 6 + 6 * 31)


def charts_of_accuracy(page: Node) -> list[Node]:
    return list(next(iter(node for node in section(page, "profiles").all("div") if node.attributes["class"] == "charts")).all("figure"))


def test_every_chart_has_its_section_with_a_table_and_a_legend(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    sections = {node.attributes["id"]: node for node in page.all("section")}
    names = "summary maude severity profiles two-factor orders fragile style sets panels failures notes made"
    assert list(sections) == names.split()
    for name in ("severity", "profiles", "two-factor", "fragile"):
        assert list(sections[name].all("figure"))
        assert [item.text for item in sections[name].one("ul", class_="legend").all("li")] == [one.model for one in scores]
        assert list(sections[name].all("table"))
    bars = tables(sections["maude"])[
        "mAUDE, the lowest first: the upright line in a bar is the clean error, the line across its end the interval"
    ]
    assert [row[0] for row in bars[1]] == [one.model for one in sorted(scores, key=lambda one: one.maude or 0)]
    lengths = [float(node.attributes["width"]) for node in sections["maude"].all("rect")]
    assert lengths == sorted(lengths)
    most = max(one.intervals["maude"][1] for one in scores)  # type: ignore[index]
    assert lengths == pytest.approx(sorted(1000 * (one.maude or 0) / most for one in scores), abs=0.1)


def test_the_points_of_two_factors_lie_in_their_quadrants(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    chart = section(page, "two-factor").one("figure")
    x, y = re.fullmatch(r"M([\d.]+) 10V262M44 ([\d.]+)H350", chart.one("path", class_="split").attributes["d"]).groups()  # type: ignore[union-attr]
    rows = tables(section(page, "two-factor"))["Mean accuracy and its coefficient of variation over two-factor sets"][1]
    said = {row[0]: row[-1] for row in rows}
    points = [(float(use.attributes["x"]), float(use.attributes["y"])) for use in chart.all("use")]
    for one, (across, down) in zip(scores, points, strict=True):
        side = {(True, True): "I", (False, True): "II", (True, False): "III", (False, False): "IV"}
        assert side[across <= float(x), down <= float(y)] == said[one.model]
        assert f"{one.model} at {one.two_factor.cv_percent:.2f} and" in chart.one("svg").attributes["aria-label"]  # type: ignore[union-attr]


def test_the_matrix_of_orders_is_the_list_of_effects(everything: tuple[Node, list[Scores]]) -> None:
    page, scores = everything
    for one in scores:
        stages, rows = tables(section(page, "orders"))[one.model]
        cells = {(row[0], stage): cell for row in rows for stage, cell in zip(stages[1:], row[1:], strict=True)}
        assert one.two_factor is not None
        for effect in one.two_factor.order_effects:
            first, second = effect.first.split("+")
            assert float(cells[first, second]) == pytest.approx(100 * effect.difference, abs=0.006)
            assert float(cells[second, first]) == pytest.approx(-100 * effect.difference, abs=0.006)


def test_panels_show_the_image_at_the_level_of_the_profile(everything: tuple[Node, list[Scores]], data: DataSet) -> None:
    page, scores = everything
    panels = section(page, "panels")
    captions = [node.one("figcaption").text for node in panels.all("figure")]
    expected = []
    for threshold in ("0.9", "0.5", "0.1"):
        for name, profile in ((name, profile) for one in scores for name, profile in one.profiles.items()):
            below = profile.first_below[threshold]
            if below is not None:
                accuracy = f"accuracy {100 * profile.accuracy[below.level]:.1f} %"
                changed = f"{100 * (below.changed or 0):.0f} % of pixels changed"
                expected.append(f"{name}, level {below.level}: {below.change}, {changed}; {accuracy}")
    assert captions == expected
    pictured = [node for node in panels.all("figure") if list(node.all("use"))]
    assert len(pictured) == sum(caption.startswith(("black_lines", "fade_black")) for caption in captions)
    for figure in pictured:
        name, level = re.match(r"(\w+), level (\d+):", figure.one("figcaption").text).groups()  # type: ignore[union-attr]
        shown = picture(page, figure).astype(float)
        distances = {n: np.abs(shown - data[f"{name}/{n:02d}" if n else "clean"].image(0)).mean() for n in range(31)}
        assert min(distances, key=lambda n: distances[n]) == int(level)
        assert f"level {level}" in figure.one("svg").attributes["aria-label"]
    never = [p.text for p in panels.all("p") if p.text.startswith("Never below")]
    assert len(never) == sum(any(p.first_below[t] is None for p in one.profiles.values()) for one in scores for t in ("0.9", "0.5", "0.1"))


def test_flips_are_counted_and_shown(flips: tuple[Node, list[Predictions]], data: DataSet) -> None:
    page, predictions = flips
    failures = section(page, "failures")
    rows = {row[0]: row[1:] for row in tables(failures)["Images that flip, by set"][1]}
    assert set(rows) == set(data.set_ids) - {"clean"}
    for name, row in rows.items():
        for number, one in enumerate(predictions):
            was, now = one.outcomes["clean"].correct, one.outcomes[name].correct
            lost = sum(bool(a) and not b for a, b in zip(was, now, strict=True))
            won = sum(not a and bool(b) for a, b in zip(was, now, strict=True))
            assert row[3 * number : 3 * number + 3] == [str(lost), f"{100 * lost / sum(was):.2f}", str(won)]
    figures = {node.attributes["id"]: node for node in failures.all("figure")}
    assert {id.split("-")[1] for id in figures} == set(rows)
    for id, figure in figures.items():
        if id.endswith("-clean"):
            continue
        clean = figures[f"{id}-clean"].one("figcaption").text
        sample = next(s for s in data.samples if clean.startswith(f"{s.id}, clean: {s.class_}"))
        name = id.split("-")[1]
        shown = picture(page, figure).astype(float)
        distances = [np.abs(shown - image).mean() for image in data[name].images()]
        assert int(np.argmin(distances)) == sample.index
        said = figure.one("figcaption").text
        assert any(one.outcomes["clean"].correct[sample.index] and not one.outcomes[name].correct[sample.index] for one in predictions)
        for one in predictions:
            guess = int(one.outcomes[name].predicted[sample.index])  # type: ignore[index]
            assert f"{one.model}: {'right' if one.outcomes[name].correct[sample.index] else data.classes[guess].name}" in said


def test_images_that_flip_for_more_models_come_first(flips: tuple[Node, list[Predictions]], data: DataSet) -> None:
    page, predictions = flips
    for name in ("fade_black/30", "brightness/5"):
        times = sum((one.outcomes["clean"].correct & ~one.outcomes[name].correct).astype(int) for one in predictions)
        ids = [node.one("figcaption").text.partition(",")[0] for node in section(page, "failures").all("figure")
               if node.attributes["id"].startswith(f"failure-{name}-") and node.attributes["id"].endswith("-clean")]  # fmt: skip
        of_id = {s.id: int(times[s.index]) for s in data.samples}
        assert [of_id[id] for id in ids] == sorted(of_id.values(), reverse=True)[: len(ids)]


def test_without_predictions_it_says_what_to_give(everything: tuple[Node, list[Scores]], data: DataSet, tmp_path: Path) -> None:
    assert (
        "nothing is shown here of net-a, net-b, net-c: give corruptset report the predictions too"
        in section(everything[0], "failures").text
    )
    scores, (one, other) = scored(data, "net-a", "net-b")
    without = Predictions("net-b", data.digest, {name: o for name, o in other.outcomes.items() if name != "clean"})
    corruptset.report(data, scores, tmp_path / "r.html", predictions={"net-a": one, "net-b": without})
    text = section(read_html(tmp_path / "r.html"), "failures").text
    assert "The predictions of net-b have no clean images" in text
    assert "Scores files do not say" not in text


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
        assert all(node.attributes.get("tabindex") == "0" for node in page.all("div") if node.attributes.get("role") == "region")
        labels = [node.attributes["aria-label"] for node in page.all("svg") if node.attributes.get("role") == "img"]
        assert all(labels)
        assert all(node.attributes.get("aria-hidden") or node.attributes.get("role") == "img" for node in page.all("svg"))


def assert_inert(page: Node) -> None:
    """Fail if a page fetches something, or runs something but its own script."""
    assert len(list(page.all("script"))) == len(list(page.all("style"))) == 1
    for node in page.all():
        assert not {name for name in node.attributes if name.startswith("on") or name in ("style", "src", "srcset", "action", "autofocus")}
        target = node.attributes.get("href", "#")
        assert target.startswith("#") or target == "data:," or re.fullmatch(r"data:image/jpeg;base64,[A-Za-z0-9+/=]+", target)
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


def test_tables_are_cut_and_pictures_reduced_until_they_fit(data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = full(data, "net-a", "net-b")
    monkeypatch.setattr(home, "WORDS", 260_000)
    monkeypatch.setattr(home, "MOST_BYTES", 262_000)
    monkeypatch.setattr(home, "CUTS", (20_000, 300))
    done = corruptset.report(data, scores, tmp_path / "r.html")
    assert done.bytes <= 262_000
    page = read_html(done.file)
    rows = tables(page)["Every set and model in full"][1]
    assert len(rows) == 300 // 4
    assert f"{2 * 96 - len(rows)} more rows are not shown here" in section(page, "sets").text
    sides = {int(node.attributes["width"]) for node in page.all("image")}
    assert len(sides) == 1
    assert len(list(page.all("image"))) == done.pictures > 5
    assert done.pictures == len({node.attributes["href"] for node in page.all("use") if "image-" in node.attributes["href"]})


def test_the_sample_of_the_panels(data: DataSet, tmp_path: Path) -> None:
    scores = full(data, "net-a")
    wanted = data.samples[7].id
    corruptset.report(data, scores, tmp_path / "r.html", sample=wanted)
    page = read_html(tmp_path / "r.html")
    assert f"One image ({wanted}, class" in section(page, "panels").text
    figure = next(node for node in section(page, "panels").all("figure") if node.one("figcaption").text.startswith("fade_black"))
    level = re.search(r"level (\d+)", figure.one("figcaption").text).group(1)  # type: ignore[union-attr]
    assert np.abs(picture(page, figure).astype(float) - data[f"fade_black/{int(level):02d}"].image(7)).mean() < 4
    with pytest.raises(ParameterError, match="has no sample '00_class/im'"):
        corruptset.report(data, scores, tmp_path / "none.html", sample="00_class/im")
    assert not (tmp_path / "none.html").exists()
    scores, predictions = scored(data, "net-a", "net-b", best=0.5)
    corruptset.report(data, scores, tmp_path / "r.html", predictions=predictions)
    right = np.all([one.outcomes["clean"].correct for one in predictions], axis=0)
    assert not right[0]
    assert f"One image ({data.samples[int(np.flatnonzero(right)[0])].id}, class" in read_html(tmp_path / "r.html").text


def test_all_that_is_wrong_is_told_at_once(data: DataSet, tmp_path: Path) -> None:
    scores, predictions = scored(data, "net-a", "net-b")
    other = Scores.model_validate(made_scores.bare("other"))
    files = write_scores(tmp_path, [*scores, other, scores[0]])
    (tmp_path / "bad.json").write_text("{}")
    wrong = Predictions("net-b", data.digest, dict(predictions[0].outcomes))
    foreign = Predictions("net-z", data.digest, dict(predictions[0].outcomes))
    with pytest.raises(ScoreError) as caught:
        corruptset.report(data, [*files, tmp_path / "bad.json"], tmp_path / "r.html", predictions=[wrong, foreign, f"none={tmp_path}"])
    lines = str(caught.value)
    for part in (
        "bad.json is no scores file",
        f"'net-a' is there 2 times ({files[0]}, {files[3]})",
        f"{files[2]} has scores of another data set, small-c 1.0.0",
        "the predictions of 'net-b' are not those that were scored: their accuracy on",
        "the predictions are of 'net-z', which is none of the models (net-a, net-b, other, net-a): name it, as NAME=PATH",
        "there are predictions of 'none', which is none of the models",
    ):
        assert part in lines, lines
    assert not (tmp_path / "r.html").exists()
    with pytest.raises(ScoreError, match="are there twice"):
        corruptset.report(data, scores, tmp_path / "r.html", predictions=[predictions[0], predictions[0]])
    with pytest.raises(ScoreError, match="no scores were given"):
        corruptset.report(data, [], tmp_path / "r.html")


def test_a_data_set_without_clean_images(shared: layouts.Shared, tmp_path: Path) -> None:
    data = build(shared, name="bright", more='[[sets]]\ncorruptions = ["brightness"]\n')
    scores, predictions = scored(data, "net", clean=True)
    corruptset.report(data, scores, tmp_path / "r.html", predictions=predictions)
    failures = section(read_html(tmp_path / "r.html"), "failures")
    assert "The data set has no clean images, so that none stand beside the others." in failures.text
    assert list(failures.all("figure"))
    assert not [node for node in failures.all("figure") if node.attributes["id"].endswith("-clean")]
