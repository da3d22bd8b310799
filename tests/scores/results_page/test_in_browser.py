"""Test results pages in a real browser."""

from __future__ import annotations

import example_scores
import pytest
from browsers import axe_violations, open_browser, page_visitor
from record_datasets import random_predictions
from result_pages import results_dataset

import corruptset

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def reports(shared_data, tmp_path_factory):
    """Return a page with scores of every kind, and one with images of failures."""
    data, folder = results_dataset(shared_data), tmp_path_factory.mktemp("reports")
    names = enumerate(["net-a", "<b>net-b</b>", "vit_large_patch14_clip_224.openai_ft_in12k_in1k"])
    all_scores = example_scores.validate_scores(
        *(example_scores.small_scores(n, name) | {"digest": data.digest} for n, name in names)
    )
    subset = [name for name in data if name == "clean" or name.startswith("brightness")]
    predictions = [random_predictions(data, seed, name) for seed, name in enumerate(("net-a", "net-b"))]
    scores = [corruptset.score(data, model_predictions, sets=subset) for model_predictions in predictions]
    return {
        "everything": corruptset.report(data, all_scores, folder / "everything.html").file,
        "flips": corruptset.report(data, scores, folder / "flips.html", predictions=predictions).file,
    }


@pytest.fixture
def visit(browser, reports):
    """Open a results page."""
    with page_visitor(browser) as open_page:
        yield lambda name, **options: open_page(reports[name].as_uri(), **options)


def unfold(page):
    """Open all folded sections."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    return page


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("everything", "light", 320),
        ("flips", "dark", 1400),
        pytest.param("everything", "dark", 1400, marks=pytest.mark.long),
        pytest.param("flips", "light", 320, marks=pytest.mark.long),
    ],
)
def test_page_fits_window_and_passes_axe(visit, name, scheme, width):
    page = visit(name, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    assert axe_violations(page) == []
    assert axe_violations(unfold(page)) == []
    for other in (320, 768, 1400, 2000):
        page.set_viewport_size({"width": other, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= other
    if name == "everything":  # Colours follow the colour scheme, and the line of the second model is dashed.
        stroke = "getComputedStyle(document.querySelector('.curve .line.m0')).stroke"
        assert page.evaluate(stroke) == {"light": "rgb(0, 114, 178)", "dark": "rgb(108, 184, 240)"}[scheme]
        dashes = "getComputedStyle(document.querySelector('.curve .line.m1')).strokeDasharray"
        assert page.evaluate(dashes) != "none"


def test_numbers_stay_next_to_long_name_on_phone_and_paper(visit):
    page = visit("everything", viewport={"width": 360, "height": 800})
    assert page.evaluate("document.querySelector('#summary tbody tr:last-child td').offsetLeft") < 200
    assert page.evaluate("(n => n.clientWidth / n.viewBox.baseVal.width)(document.querySelector('.bars'))") > 0.95
    unfold(page).emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 718


def column(page, table, place):
    cells = page.locator(f"#{table} tbody tr > :nth-child({place})").all_text_contents()
    return [cell.split()[0] for cell in cells]


def test_tables_are_sorted_by_keyboard_with_missing_values_last(visit):
    page = unfold(visit("everything"))
    before = column(page, "table-sets", 4)
    head = page.locator("#table-sets thead th").nth(3)
    head.get_by_role("button").focus()
    for key, order in (("Enter", "ascending"), ("Space", "descending")):
        page.keyboard.press(key)
        result = [float(text) for text in column(page, "table-sets", 4)]
        assert result == sorted(map(float, before), reverse=order == "descending")
        assert head.get_attribute("aria-sort") == order
    assert page.locator(".status").text_content() == "Sorted by accuracy %, downwards"
    page.locator("#table-sets thead th").nth(1).get_by_role("button").click()
    assert column(page, "table-sets", 2) == sorted(column(page, "table-sets", 2))
    assert head.get_attribute("aria-sort") is None
    # Rows of tables are not split.
    rows = page.locator("#table-sets tbody tr").all_text_contents()
    assert len(rows) == len(set(rows)) == len(before)
    for times in range(2):
        page.locator("#table-two_factor thead th").nth(1).get_by_role("button").click()
        assert column(page, "table-two_factor", 1)[-1] == "reference", times
    page.locator("#table-degradation thead th").nth(2).get_by_role("button").click()
    levels = column(page, "table-degradation", 3)
    expected = sorted(float(level) for level in levels if level != "never")
    assert len(expected) < len(levels)
    assert levels == [f"{level:g}" for level in expected] + ["never"] * (len(levels) - len(expected))


def test_page_is_complete_without_script_and_in_print_and_script_enlarges_images(visit):
    page = unfold(visit("everything", java_script_enabled=False))
    for selector in ("section", "figure", "table", "svg.curve", "svg.bars"):
        hidden = f"[...document.querySelectorAll('{selector}')].map(n => n.checkVisibility())"
        assert set(page.evaluate(hidden)) == {True}, selector
    assert page.locator("th button").count() == 0
    page = unfold(visit("flips"))
    page.locator("#failures figure a.large").first.click()
    assert page.get_by_role("dialog").locator("svg").first.bounding_box()["width"] > 100
    page.keyboard.press("Escape")
    page.emulate_media(media="print")
    assert page.evaluate("[...document.querySelectorAll('.tall')].every(n => n.scrollHeight <= n.clientHeight + 1)")
    assert not any(element.is_visible() for element in page.locator(".copy").all())
