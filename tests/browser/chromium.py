"""One Chromium for all tests of a worker, and a page that forgives nothing: an error of the script, a line
of console.error and a violation of the Content-Security-Policy each fail the test."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# One process draws and runs all pages: a new one for each, with its own start and an empty cache of compiled
# code, costs three times as much as the page.
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
]


_PATIENCE_MS = 120_000  # far more than a busy machine needs: what is not there by then does not come


class Chromium:
    """The browser, and the context that the pages of all tests share."""

    def __init__(self, playwright: Any) -> None:
        self.browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=_ARGUMENTS)
        self.context = self.browser.new_context(viewport={"width": 1400, "height": 900})
        self.context.set_default_timeout(_PATIENCE_MS)
        self.context.new_page()  # with no page left, the process that runs them would end
        self.loop = asyncio._get_running_loop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Playwright keeps an event loop running, of which this thread must not know between our tests: other
    files start their own."""
    from playwright.sync_api import expect, sync_playwright

    if EXECUTABLE is None:
        why = "there is no chromium on PATH; install it with: apt-get install chromium"
        assert os.environ.get("CI") != "true", why
        pytest.skip(why)
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        started = Chromium(playwright)
        asyncio._set_running_loop(None)
        yield started
        asyncio._set_running_loop(started.loop)
        started.browser.close()


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Any]:
    asyncio._set_running_loop(chromium.loop)
    yield chromium.browser
    asyncio._set_running_loop(None)


@pytest.fixture
def page(chromium: Chromium, browser: Any) -> Iterator[Any]:
    sheet = chromium.context.new_page()
    faults: list[str] = []
    sheet.on("pageerror", lambda error: faults.append(f"page error: {error}"))
    sheet.on("console", lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None)
    yield sheet
    if sheet.url.startswith("http"):
        sheet.evaluate("localStorage.clear(); sessionStorage.clear()")
        sheet.goto("about:blank")  # it would miss a server that ends with its file's tests
    sheet.close()
    chromium.context.set_offline(False)
    assert not faults, faults


@contextmanager
def forgiving_page(browser: Any, **how: Any) -> Iterator[Any]:
    """In a context of its own, for what is logged on purpose: requests that are refused or fail."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, **how)
    context.set_default_timeout(_PATIENCE_MS)
    yield context.new_page()
    context.close()
