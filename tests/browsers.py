"""Chromium, by playwright (the extra `browser`): pages as people have them.

Tests that import this are skipped, and say why, where one of the two is missing.

`pages/axe/axe.min.js` is axe-core 4.14.1 as npm has it, unchanged, under the Mozilla Public License 2.0
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
"""(address, **options of the browser's context) -> the page at a file's or a server's address."""


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Open Chromium."""
    with playwright.sync_playwright() as driver:
        # a container has no user of its own for the browser's sandbox
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visits(browser: Any) -> Iterator[Visit]:
    """Open pages, those of files with the network off; at the end no message on a console and no further request may
    have been seen.
    """
    contexts, wrong = [], []

    def visit(address: str, **options: Any) -> Any:
        viewport = {"width": 1400, "height": 900}
        context = browser.new_context(**{"viewport": viewport, "offline": address.startswith("file:"), **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: None if _own(request.url, address) else wrong.append(f"request: {request.url[:80]}"),
        )
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def _own(url: str, page: str) -> bool:
    return url.startswith("data:") or url.partition("#")[0] == page.partition("#")[0]


def axe_violations(page: Any) -> list[tuple[str, list[str]]]:
    """Return what axe finds on a page that was opened with ``bypass_csp=True``: the page's policy forbids any other
    script.
    """
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(v["id"], [node["html"][:120] for node in v["nodes"]][:3]) for v in violations]
