"""Where the time of a recorded run went, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible
from tests.browser.recordings import serving
from tests.runlog.logs import write
from torch_debugger.records import Scalars


def test_the_steps_and_the_wait_for_data_are_told(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/time?run=slow")

    expect(page.locator(".time-summary")).to_contain_text("Half of the steps take")
    expect(page.locator(".time-summary")).to_contain_text("64 steps took")
    expect(page.get_by_role("img", name="Time of all steps: waiting for data")).to_be_visible()
    chart = page.get_by_role("img", name="Seconds a step takes")
    assert "waiting for data: First" in chart.get_attribute("aria-label")
    first = page.get_by_role("table", name="Slowest steps").get_by_role("row").nth(1)
    expect(first).to_contain_text("the first step")


def test_what_was_not_recorded_is_said_once_and_has_no_panel(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/time?run=slow")

    expect(page.get_by_text("Not recorded in this run:")).to_have_count(1)
    expect(page.get_by_role("heading", name="Memory over the steps")).to_have_count(0)
    expect(page.get_by_role("heading", name="Time by module")).to_have_count(0)


def test_a_log_without_times_does_not_offer_the_view_and_says_why_it_is_empty(
    page: Any, tmp_path: Path
) -> None:
    write(tmp_path / "run", [Scalars(1, 1_700_000_000.0, {"loss": 1.0})])
    with serving(tmp_path) as address:
        page.goto(f"{address}#/verdict?run=run")
        page.get_by_role("navigation", name="Views").get_by_role("link", name="Runs").wait_for()
        expect(page.get_by_role("navigation", name="Views").get_by_text("Time and memory")).to_have_count(0)
        page.goto(f"{address}#/time?run=run")
        expect(page.get_by_text("No times were recorded in this run.")).to_be_visible()
        page.goto("about:blank")  # it would miss the server


@pytest.mark.parametrize("width", [360, 3840])
def test_the_page_never_scrolls_sideways(page: Any, swept: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{swept}#/time?run=slow")
    page.locator(".time-summary").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_accessible_in_light_and_dark(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/time?run=slow")
    page.locator(".time-summary").wait_for()
    assert_accessible(page)
