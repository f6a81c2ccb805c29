"""The tab inside a real TensorBoard, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import forgiving_page
from tests.viewer.real_tensorboard import TensorBoard, environment_with_tab


@pytest.fixture(scope="module")
def board(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tab")
    server = TensorBoard(folder, environment_with_tab(folder), "--logdir", str(recordings))
    yield server.address
    server.end()


def test_the_tab_shows_the_verdict_in_its_styles_and_its_links_stay_inside(page: Any, board: str) -> None:
    page.goto(f"{board}/#torch_debugger")
    tab = page.frame_locator("iframe").first
    tab.get_by_role("navigation").get_by_text("Verdict").wait_for()
    tab.get_by_role("heading", level=1).wait_for()
    margin = tab.locator("body").evaluate("body => getComputedStyle(body).margin")
    assert margin == "0px", "page.css takes the margin away"
    tab.get_by_role("navigation").get_by_role("link").first.click()
    tab.get_by_role("heading", level=1).wait_for()
    inside = [frame.url for frame in page.frames if frame != page.main_frame]
    assert any("plugin_entry.html?name=torch_debugger#/" in url for url in inside), inside


def test_the_other_tabs_are_unharmed(browser: Any, board: str) -> None:
    with forgiving_page(browser) as page:  # TensorBoard's own charts complain about the NaN of a run
        page.goto(f"{board}/#timeseries")
        page.get_by_text("weight_norm").first.wait_for()
