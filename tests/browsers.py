"""Open pages in Chromium with playwright (the extra `browser`).

Tests that import this module are skipped if Chromium or playwright is not installed.

`pages/axe/axe.min.js` is the unchanged axe-core 4.14.1 from npm, under the Mozilla Public License 2.0
(`pages/axe/LICENSE`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the extra `browser`)")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("Chromium is not installed (Debian: apt-get install chromium)", allow_module_level=True)

AXE = Path(__file__).parent / "pages/axe/axe.min.js"

Visit = Callable[..., Any]
"""Function of an address and options of the browser's context that returns the opened page."""


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium, and stop it at the end of the block."""
    with playwright.sync_playwright() as driver:
        # the sandbox does not work for the user root in a container
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def page_visitor(browser: Any) -> Iterator[Visit]:
    """Yield a function that opens pages, without network access for files.

    At the end, assert that no page printed messages on its console or sent further requests.
    """
    contexts, problems = [], []

    def visit(address: str, **options: Any) -> Any:
        viewport = {"width": 1400, "height": 900}
        context = browser.new_context(**{"viewport": viewport, "offline": address.startswith("file:"), **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: None if _own(request.url, address) else problems.append(f"request: {request.url[:80]}"),
        )
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


def _own(url: str, page: str) -> bool:
    return url.startswith("data:") or url.partition("#")[0] == page.partition("#")[0]


def axe_violations(page: Any) -> list[tuple[str, list[str]]]:
    """Return the accessibility problems that axe finds on a page.

    The page must be opened with ``bypass_csp=True``, because its policy forbids other scripts.
    """
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(v["id"], [node["html"][:120] for node in v["nodes"]][:3]) for v in violations]
