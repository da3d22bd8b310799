"""Test the page of a study in Chromium with keyboard and mouse, opened as a file without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import corruptset_pairs
import pytest
from browsers import axe_violations, open_browser, page_visitor
from corruptset_pairs.sheet import Sheet, pairs_sheet
from studies import HOSTILE, page_data

from corruptset.manifests.reader import Dataset

pytestmark = pytest.mark.ci
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Return a function that opens a page in Chromium."""
    with page_visitor(chromium) as visit:

        def run(file: Path, *, link: str = "", width: int = 400, scheme: str = "light", **options: Any) -> Any:
            viewport = {"width": width, "height": 800}
            return visit(file.as_uri() + link, viewport=viewport, color_scheme=scheme, **options)

        yield run


def start_study(page: Any, person: str, group: str | None = None) -> None:
    """Fill in the first screen and start the study with the keyboard."""
    page.fill("#person", person)
    if group is not None:
        page.check(f"input[value={group}]")
    page.check("input[name=consent]")
    page.press("#person", "Enter")
    page.wait_for_selector("#picture img")


def shown_trial(page: Any, data: dict[str, Any], number: int) -> str:
    """Wait for the image with a number and return the id of its trial."""
    count = len(data["trials"]["A"])
    page.wait_for_function(f"document.querySelector('#place').textContent === 'Picture {number} of {count}'")
    page.wait_for_function("document.activeElement.id === 'place'")
    source = page.get_attribute("#picture img", "src").partition(",")[2]
    (trial,) = [trial for group in data["trials"].values() for trial, image in group if image == source]
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return str(trial)


def test_complete_sheets_answered_by_keyboard_are_scored(
    open_page: Open, pairs_of_model: Sheet, tmp_path: Path
) -> None:
    key, data = pairs_of_model.key, page_data(pairs_of_model.page.read_text("utf-8"))
    trials = {trial.id: trial for trial in key.trials}
    orders: dict[str, list[str]] = {}
    for person, group in (("p01", "A"), ("p02", "A"), ("p03", "B")):
        page = open_page(pairs_of_model.page, link=f"#{group}")
        assert page.is_hidden("#groups")
        start_study(page, person)
        with page.expect_download() as saving:
            for number in range(1, 11):
                trial = trials[shown_trial(page, data, number)]
                assert trial.group == group
                orders.setdefault(person, []).append(trial.id)
                answer = str((key.categories.index(trial.category) + 1) % 10) if trial.right else "x"
                page.keyboard.down(answer)
                page.keyboard.down(answer)  # a key that is held down repeats, but must answer only one image
                page.keyboard.up(answer)
        assert page.inner_text("#summary").startswith("You answered 10 of 10 pictures.")
        assert saving.value.suggested_filename == f"answers-{key.study[7:15]}-{group}-{person}.json"
        saving.value.save_as(tmp_path / saving.value.suggested_filename)
    assert sorted(orders["p01"]) == sorted(orders["p02"])
    assert orders["p01"] != orders["p02"]
    result = corruptset_pairs.pairs_score(pairs_of_model.key_file, [tmp_path])
    assert (result.people, result.answers, result.refused) == ({"A": 2, "B": 1}, 30, [])
    assert result.gap is not None
    assert (result.gap.pairs, result.gap.difference) == (10, 1)
    assert result.members["wrong"].cannot_tell == 1
    assert 0 < (result.members["right"].median_ms or 0) < 60_000


def test_study_works_with_mouse_pause_and_missing_keys(open_page: Open, levels_sheet: Sheet, tmp_path: Path) -> None:
    data = page_data(levels_sheet.page.read_text("utf-8"))
    page = open_page(levels_sheet.page)
    page.click("button[type=submit]")
    assert page.inner_text("#problem").startswith("Please type your name or code, and choose your group, and confirm")
    assert page.evaluate("document.activeElement.id") == "person"
    page.uncheck("input[name=keys]")
    start_study(page, "Ann/../é", "B")
    assert page.is_hidden("#answers kbd >> nth=0")
    page.keyboard.press("1")
    for number in (1, 2):
        shown_trial(page, data, number)
        page.click(f"#answers button >> nth={number}")
    shown_trial(page, data, 3)
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.click("#stop")
    assert page.is_visible("#trial")
    page.once("dialog", lambda dialog: dialog.accept())
    saved = []
    for button in ("#stop", "#save"):
        with page.expect_download() as saving:
            page.click(button)
        saving.value.save_as(tmp_path / "answers.json")
        saved.append(json.loads((tmp_path / "answers.json").read_text("utf-8")))
    first, repeated = saved
    assert first == repeated
    assert (first["person"], first["group"], first["finished"]) == ("Ann/../é", "B", False)
    answers = [(answer["answer"], answer["order"]) for answer in first["answers"]]
    assert answers == [(data["categories"][1], 1), (data["categories"][2], 2)]
    result = corruptset_pairs.pairs_score(levels_sheet.key, [tmp_path / "answers.json"], unfinished=True)
    assert (result.answers, result.unfinished) == (2, 1)


def test_foreign_text_is_never_executed(open_page: Open, regions: Dataset, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(HOSTILE) + "\n---\n" + "\n\n".join(HOSTILE), encoding="utf-8")
    names = {c.folder: name for c, name in zip(regions.classes, HOSTILE, strict=True)}
    sheet = pairs_sheet(regions, tmp_path / "hostile.html", n=1, categories=names, text=text)
    page = open_page(sheet.page)
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    assert page.is_hidden("#needed")
    start_study(page, "<img src=x onerror=alert(1)>", "A")
    data = page_data(sheet.page.read_text("utf-8"))
    shown_trial(page, data, 1)
    labels = page.eval_on_selector_all("#answers bdi", "nodes => nodes.map((node) => node.textContent)")
    assert labels == [*data["labels"], "I cannot tell"]
    assert page.eval_on_selector_all("img, svg, iframe, object, embed", "nodes => nodes.length") == 1
    with page.expect_download() as saving:
        page.keyboard.press("2")
    saving.value.save_as(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))["answers"][0]["answer"] == HOSTILE[1]
    assert corruptset_pairs.pairs_score(sheet.key_file, [tmp_path / "a.json"]).answers == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screens_fit_all_widths_and_pass_axe(scheme: str, open_page: Open, pairs_of_model: Sheet) -> None:
    for width in (320, 1400):
        page = open_page(pairs_of_model.page, width=width, scheme=scheme, bypass_csp=True)
        page.click("button[type=submit]")
        for screen in ("start", "trial", "end"):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert axe_violations(page) == [], screen
            if screen == "start":
                start_study(page, "p", "A")
                image = "i => [i.naturalWidth, i.clientWidth, i.clientHeight, getComputedStyle(i).imageRendering]"
                assert page.eval_on_selector("#picture img", image) == [16, 256, 256, "pixelated"]
            elif screen == "trial":
                page.once("dialog", lambda dialog: dialog.accept())
                with page.expect_download():
                    page.click("#stop")


def test_page_without_script_states_requirement(chromium: Any, pairs_of_model: Sheet) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pairs_of_model.page.as_uri())
    assert page.is_visible("text=This page needs JavaScript")
    assert page.is_visible("h1")
    assert page.is_hidden("#start")
    context.close()
