"""Test the page of a build in a real browser."""

from __future__ import annotations

import functools
import http.server
import threading

import numpy as np
import pytest
from browsers import axe_violations, open_browser, page_visitor
from PIL import Image

import corruptset
from corruptset.manifests.paths import PAGE

pytestmark = pytest.mark.ci
CHAINS = (["contrast-3"], ["brightness-2"], ["contrast-3", "brightness-2"], ["brightness-2", "contrast-3"])
GRID = "".join(f"[[sets]]\nchain = {chain}\n\n" for chain in CHAINS)
LEVELS = '[[sets]]\nclean = true\n\n[[sets]]\ncorruptions = ["fade_black"]\nlevels = 30\n'


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def builds(shared_data):
    """Return the pages of a plain build, of a build with pairs, and of a build with levels."""
    options = {"storage": "hdf5", "metrics": 64, "page": True}
    small = {"crops": {"classes": 2}, **options}
    return {
        "plain": shared_data.build(**options),
        "grid": shared_data.build(recipe={"name": "browsed-grid", "more": GRID}, **small),
        "levels": shared_data.build(recipe={"name": "browsed-levels", "more": LEVELS}, **small),
    }


@pytest.fixture
def visit(browser, builds):
    """Open the page of a build."""
    with page_visitor(browser) as open_page:
        yield lambda name, address=None, **options: open_page(address or (builds[name] / PAGE).as_uri(), **options)


@pytest.mark.parametrize(
    ("name", "scheme", "width", "height"),
    [
        ("plain", "light", 1400, 900),
        ("plain", "dark", 400, 800),
        ("grid", "dark", 1400, 900),
        ("levels", "light", 400, 800),
    ],
)
def test_first_screen_has_image_and_passes_axe(visit, tmp_path, name, scheme, width, height):
    page = visit(name, color_scheme=scheme, viewport={"width": width, "height": height}, bypass_csp=True)
    box = page.locator("figure .large").first.bounding_box()
    assert box["y"] + box["height"] < height
    page.screenshot(path=tmp_path / "page.png")
    pixels = np.array(Image.open(tmp_path / "page.png").convert("L")).astype(float)
    assert (pixels.mean() > 128) == (scheme == "light")
    assert pixels.std() > 15
    assert axe_violations(page) == []
    page.locator("a.large").nth(1).click()
    assert axe_violations(page) == []
    page.get_by_role("button", name="Close").click()
    for narrower in (320, 768, 1400, 2000):
        page.set_viewport_size({"width": narrower, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower


def test_served_page_requests_nothing_more_and_copies_digest(visit, builds):
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *arguments):
            requests.append(self.path)

    handler = functools.partial(Handler, directory=str(builds["plain"]))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/{PAGE}"
        page = visit("plain", address, permissions=["clipboard-read", "clipboard-write"])
        page.locator(".copied .copy").first.focus()
        page.keyboard.press("Enter")
        page.locator(".status", has_text="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == corruptset.open(builds["plain"]).digest
        server.shutdown()
    assert requests == [f"/{PAGE}"]


def are_shown(page, selector):
    """Return whether there are elements for a selector and all of them are visible."""
    return set(page.evaluate(f"[...document.querySelectorAll({selector!r})].map(n => n.checkVisibility())"))


def test_page_without_script_is_complete(visit):
    page = visit("plain", java_script_enabled=False)
    row = page.locator("#sets-contrast")
    assert not row.locator("table").is_visible()
    row.locator("summary").click()
    assert row.locator("table").is_visible()
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for selector in (".block", "figure", "table", "svg.curve"):
        assert are_shown(page, selector) == {True}, selector
    assert are_shown(page, ".filters, .copy") == {False}
    link = page.locator("#image-contrast\\/3 a")
    before = link.bounding_box()["width"]
    link.focus()
    page.keyboard.press("Enter")
    assert link.bounding_box()["width"] > 2 * before


def test_image_is_enlarged_by_keyboard(visit):
    page = visit("plain")
    link = page.locator("#image-contrast\\/3 a")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    assert dialog.is_visible()
    assert page.locator("#large-name").text_content() == "contrast: severity 3"
    assert dialog.locator("figcaption").all_text_contents() == ["clean", "severity 3"]
    sides = [dialog.locator(kind).bounding_box() for kind in ("svg", "img")]
    # The image of one sample is shown, not all images below each other.
    assert all(box["width"] == pytest.approx(box["height"], abs=2) for box in sides)
    assert dialog.locator("img").evaluate("node => getComputedStyle(node).objectFit") == "cover"
    page.keyboard.press("ArrowRight")
    assert page.locator("#large-name").text_content() == "contrast: severity 4"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#large-name").text_content() == "contrast: severity 2"
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert page.evaluate("document.activeElement.closest('figure').id") == "image-contrast/3"
    for number in range(2):  # After the last image comes the first one.
        page.locator("a.large").nth(-number).click()
        page.get_by_role("button", name="Previous" if number == 0 else "Next").click()
        assert dialog.is_visible()
        page.get_by_role("button", name="Close").click()


def test_filters_hide_sets(visit):
    page = visit("plain")

    def images():
        figures = page.locator("figure[data-severity]:visible").all()
        return [element.get_attribute("id").removeprefix("image-") for element in figures]

    all_images = images()
    page.get_by_label("Corruption").select_option("contrast")
    assert {name.partition("/")[0] for name in images()} == {"contrast", "contrast-3+brightness-2"}
    page.get_by_label("Severity or level").select_option("5")
    assert images() == ["contrast/5"]
    assert page.locator(".status").text_content() == f"1 of {len(all_images)} sets with an image are shown"
    page.get_by_label("Family").select_option("weather")
    assert images() == []
    assert page.get_by_text("No set matches these filters.").is_visible()
    page.get_by_role("button", name="Show all").click()
    page.wait_for_timeout(50)
    assert images() == all_images
    assert not page.get_by_text("No set matches these filters.").is_visible()


@pytest.mark.parametrize("script", [True, False])
def test_selected_sample_is_shown_for_every_set(visit, script):
    page = visit("plain", java_script_enabled=script)

    def visible_images():
        return [page.locator(f"#image-contrast\\/{severity}").screenshot() for severity in (1, 5)]

    before = visible_images()
    page.locator("#sample-1").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#sample-3").is_checked()
    after = visible_images()
    assert all(first != other for first, other in zip(before, after, strict=True))
    page.locator("#sample-1").check()
    assert visible_images() == before


def test_every_control_is_reachable_and_visible(visit):
    page = visit("plain")
    expected = page.evaluate(
        "[...document.querySelectorAll('a[href], button, select, input:checked, [tabindex=\"0\"], summary')]"
        ".filter(n => n.checkVisibility() && n.tabIndex >= 0).length"
    )
    reached = 0
    for _ in range(expected + 5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 100)")
        reached += 1
    assert reached == expected


def test_print_shows_everything_without_buttons(visit):
    page = visit("levels")
    page.emulate_media(media="print")
    assert (are_shown(page, ".block"), are_shown(page, "button")) == ({True}, {False})
    assert all(element.bounding_box()["height"] > 100 for element in page.locator("details table").all())
    assert page.evaluate("getComputedStyle(document.querySelector('.block')).breakInside") == "auto"


def test_grid_is_complete_on_narrow_paper_with_values_on_one_line(visit):
    page = visit("grid", viewport={"width": 200, "height": 800})
    fits = "[...document.querySelectorAll('{}')].every(n => n.scrollWidth <= n.parentNode.clientWidth)"
    assert not page.evaluate(fits.format(".matrix"))
    page.emulate_media(media="print")
    assert page.evaluate(fits.format(".matrix"))
    page = visit("plain", viewport={"width": 360, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert max(page.evaluate("[...document.querySelectorAll('#sets-contrast td')].map(n => n.clientHeight)")) < 40


def test_severity_images_share_heading_and_names_break_between_words(visit):
    page = visit("plain")
    heads = page.locator(".heads .strip > span")
    assert heads.all_text_contents() == ["clean", *(f"severity {severity}" for severity in range(1, 6))]
    left = [element.bounding_box()["x"] for element in heads.all()]
    for name in ("brightness", "contrast"):
        images = page.locator(f"#sets-{name} > .strip > figure").all()
        assert [element.bounding_box()["x"] for element in images] == pytest.approx(left, abs=1)
        assert all(item.bounding_box()["width"] > 150 for item in images)
        spark = page.locator(f"#sets-{name} .spark-figure")
        assert spark.locator("figcaption").text_content() == "SSIM"
        assert spark.locator("text.y").all_text_contents() == ["0", "1"]
    for width in (400, 1024, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("[...document.querySelectorAll('h3')].every(n => n.scrollWidth <= n.clientWidth)")
