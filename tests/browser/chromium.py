"""One Chromium for the tests of a file, and a page that forgives nothing: an error of the script, a line
of console.error and a violation of the Content-Security-Policy each fail the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")  # while it runs, so does an event loop: not for other files
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if EXECUTABLE is None:
        why = "there is no chromium on PATH; install it with: apt-get install chromium"
        assert os.environ.get("CI") != "true", why
        pytest.skip(why)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        chromium = playwright.chromium.launch(executable_path=EXECUTABLE, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    sheet = context.new_page()
    faults: list[str] = []
    sheet.on("pageerror", lambda error: faults.append(f"page error: {error}"))
    sheet.on("console", lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None)
    yield sheet
    context.close()
    assert faults == []
