"""The page of a study in Chromium, as a person uses it: by keys and by mouse, from a file, without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import corruptset_pairs
import pytest
from browsers import axe_violations, opened_browser, visits
from corruptset_pairs.answer_files import read_key
from corruptset_pairs.sheet import Sheet, pairs_sheet
from studies import HOSTILE, data_of

from corruptset.manifests.reader import DataSet

pytestmark = pytest.mark.ci
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Open a file."""
    with visits(chromium) as visit:

        def run(file: Path, *, link: str = "", width: int = 400, scheme: str = "light", **options: Any) -> Any:
            return visit(file.as_uri() + link, viewport={"width": width, "height": 800}, color_scheme=scheme, **options)

        yield run


def begin(page: Any, person: str, group: str | None = None) -> None:
    """Fill in the first screen, by keys alone once the name is typed."""
    page.fill("#person", person)
    if group is not None:
        page.check(f"input[value={group}]")
    page.check("input[name=consent]")
    page.press("#person", "Enter")
    page.wait_for_selector("#picture img")


def shown_trial(page: Any, data: dict[str, Any], number: int) -> str:
    """Wait for a picture and return its trial."""
    page.wait_for_function(
        f"document.querySelector('#place').textContent === 'Picture {number} of {len(data['trials']['A'])}'"
    )
    page.wait_for_function("document.activeElement.id === 'place'")
    source = page.get_attribute("#picture img", "src").partition(",")[2]
    (trial,) = [trial for group in data["trials"].values() for trial, picture in group if picture == source]
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return str(trial)


def test_whole_sheets_answered_by_keyboard_are_scored(open_page: Open, pairs_of_model: Sheet, tmp_path: Path) -> None:
    key, data = pairs_of_model.key, data_of(pairs_of_model.page.read_text("utf-8"))
    trials = {trial.id: trial for trial in key.trials}
    orders = {}
    for person, group in (("p01", "A"), ("p02", "A"), ("p03", "B")):
        page = open_page(pairs_of_model.page, link=f"#{group}")
        assert page.is_hidden("#groups")
        begin(page, person)
        with page.expect_download() as saving:
            for number in range(1, 11):
                trial = trials[shown_trial(page, data, number)]
                assert trial.group == group
                orders.setdefault(person, []).append(trial.id)
                place = key.categories.index(trial.category)
                page.keyboard.press(str((place + 1) % 10) if trial.right else "x")
        assert page.is_visible("#end")
        assert page.inner_text("#summary").startswith("You answered 10 of 10 pictures.")
        saving.value.save_as(tmp_path / saving.value.suggested_filename)
        assert saving.value.suggested_filename == f"answers-{key.study[7:15]}-{group}-{person}.json"
    assert sorted(orders["p01"]) == sorted(orders["p02"])
    assert orders["p01"] != orders["p02"]
    scored = corruptset_pairs.pairs_score(pairs_of_model.key_file, [tmp_path])
    assert (scored.people, scored.answers, scored.refused) == ({"A": 2, "B": 1}, 30, [])
    assert scored.gap is not None
    assert (scored.gap.pairs, scored.gap.difference) == (10, 1)
    assert scored.members["wrong"].cannot_tell == 1
    assert scored.members["right"].median_ms is not None
    assert 0 < scored.members["right"].median_ms < 60_000


def test_a_mouse_a_stop_and_no_keys(open_page: Open, levels_sheet: Sheet, tmp_path: Path) -> None:
    data = data_of(levels_sheet.page.read_text("utf-8"))
    page = open_page(levels_sheet.page)
    page.click("button[type=submit]")
    assert (
        page.inner_text("#problem")
        == "Please type your name or code, and choose your group, and confirm that you take part of your own free will."
    )
    assert page.evaluate("document.activeElement.id") == "person"
    page.uncheck("input[name=keys]")
    begin(page, "Ann/../é", "B")
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
    with page.expect_download() as saving:
        page.click("#stop")
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    saved = json.loads(file.read_text("utf-8"))
    assert (saved["person"], saved["group"], saved["finished"]) == ("Ann/../é", "B", False)
    assert [(answer["answer"], answer["order"]) for answer in saved["answers"]] == [
        (data["categories"][1], 1),
        (data["categories"][2], 2),
    ]
    with page.expect_download() as again:
        page.click("#save")
    again.value.save_as(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text("utf-8")) == saved
    scored = corruptset_pairs.pairs_score(levels_sheet.key, [file], unfinished=True)
    assert (scored.answers, scored.unfinished) == (2, 1)


def test_text_of_strangers_runs_nothing(open_page: Open, regions: DataSet, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(HOSTILE) + "\n---\n" + "\n\n".join(HOSTILE), encoding="utf-8")
    names = {c.folder: name for c, name in zip(regions.classes, HOSTILE, strict=True)}
    sheet = pairs_sheet(regions, tmp_path / "hostile.html", n=1, categories=names, text=text)
    page = open_page(sheet.page)
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    assert page.is_hidden("#needed")
    begin(page, "<img src=x onerror=alert(1)>", "A")
    data = data_of(sheet.page.read_text("utf-8"))
    shown_trial(page, data, 1)
    assert page.eval_on_selector_all("#answers bdi", "nodes => nodes.map((node) => node.textContent)") == [
        *data["labels"],
        "I cannot tell",
    ]
    assert page.eval_on_selector_all("img, svg, iframe, object, embed", "nodes => nodes.length") == 1
    with page.expect_download() as saving:
        page.keyboard.press("2")
    saving.value.save_as(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))["answers"][0]["answer"] == HOSTILE[1]
    scored = corruptset_pairs.pairs_score(read_key(sheet.key_file), [tmp_path / "a.json"])
    assert scored.answers == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_holds_the_page_and_pictures_are_enlarged_by_whole_numbers(
    scheme: str, open_page: Open, pairs_of_model: Sheet
) -> None:
    for width in (320, 400, 1400, 2000):
        page = open_page(pairs_of_model.page, width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        begin(page, "p", "A")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.eval_on_selector(
            "#picture img", "i => [i.naturalWidth, i.naturalHeight, i.clientWidth, i.clientHeight]"
        )
        assert sizes == [16, 16, 256, 256]
        assert page.eval_on_selector("#picture img", "i => getComputedStyle(i).imageRendering") == "pixelated"


def test_without_a_script_the_page_says_what_it_needs(chromium: Any, pairs_of_model: Sheet) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pairs_of_model.page.as_uri())
    assert page.is_visible("text=This page needs JavaScript")
    assert page.is_visible("h1")
    assert page.is_hidden("#start")
    context.close()


def test_a_held_key_answers_one_picture(open_page: Open, pairs_of_model: Sheet) -> None:
    data = data_of(pairs_of_model.page.read_text("utf-8"))
    page = open_page(pairs_of_model.page)
    begin(page, "p", "A")
    shown_trial(page, data, 1)
    page.keyboard.down("3")
    shown_trial(page, data, 2)
    for _ in range(5):
        page.keyboard.down("3")  # repeats, as the key is not let go of
    page.keyboard.up("3")
    shown_trial(page, data, 2)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 320)])
def test_axe_finds_nothing_on_any_screen(scheme: str, width: int, open_page: Open, pairs_of_model: Sheet) -> None:
    page = open_page(pairs_of_model.page, scheme=scheme, width=width, bypass_csp=True)
    page.click("button[type=submit]")
    assert axe_violations(page) == []
    begin(page, "p", "A")
    assert axe_violations(page) == []
    page.once("dialog", lambda dialog: dialog.accept())
    with page.expect_download():
        page.click("#stop")
    assert axe_violations(page) == []
