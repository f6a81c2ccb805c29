"""Runs held against each other in a real browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.chromium import forgiving_page
from tests.browser.sweep import HOSTILE


def link(address: str, *names: str) -> str:
    return f"{address}#/compare?{urlencode({'runs': ','.join(quote(name, safe='') for name in names)})}"


def test_where_they_part_stands_first_then_the_code_and_settings_that_differ(page: Any, swept: str) -> None:
    page.goto(link(swept, "seed0", "forgot"))
    expect(page.locator(".compare-first")).to_contain_text("The runs part at step 2")
    expect(page.get_by_text("Likely cause: missing-zero-grad")).to_be_visible()
    expect(page.get_by_role("img", name="Loss of both runs")).to_be_visible()
    assert "seed0: First" in page.get_by_role("img", name="Loss of both runs").get_attribute("aria-label")
    code = page.get_by_role("region", name="Code: from seed0 to forgot")
    expect(code.locator(".diff-removed")).to_contain_text("optimizer.zero_grad()")
    page.goto(link(swept, "seed0", "slow"))
    settings = page.get_by_role("region", name="What they were told")
    expect(settings.get_by_role("row", name="arguments")).to_contain_text("--lr 0.01")
    expect(page.get_by_text("The same in both:")).to_be_visible()


def test_names_survive_the_address(page: Any, swept: str) -> None:
    page.goto(link(swept, HOSTILE, "slow"))
    expect(page.locator(".compare-pair")).to_have_text(f"{HOSTILE} and slow")
    expect(page.locator(".compare-first")).to_contain_text("differ before the first update")


def test_of_more_than_two_any_pair_can_be_chosen(page: Any, swept: str) -> None:
    page.goto(link(swept, "slow", "seed0", "forgot"))
    expect(page.get_by_role("heading", name="3 runs compared")).to_be_visible()
    expect(page.get_by_role("img", name="3 runs over")).to_be_visible()
    drawn = page.get_by_role("img", name="Loss of the 3 runs").get_attribute("aria-label") or ""
    assert all(f"{name}: First" in drawn for name in ("slow", "seed0", "forgot")), drawn
    expect(page.get_by_role("heading", name="slow and seed0, step by step")).to_be_visible()
    page.get_by_label("against").select_option("forgot")
    expect(page.get_by_role("heading", name="slow and forgot, step by step")).to_be_visible()
    expect(page.get_by_role("columnheader", name="forgot").first).to_be_visible()
    page.wait_for_url("**second=forgot**")


def test_without_a_choice_it_says_what_to_do(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/compare?run=slow")
    page.get_by_role("link", name="Select them in the table of runs").click()
    expect(page.get_by_label("Select slow")).to_be_checked()


def test_a_run_that_is_not_there_is_said(swept: str, browser: Any) -> None:
    with forgiving_page(browser) as other:
        other.goto(link(swept, "slow", "gone"))
        expect(other.get_by_role("alert")).to_contain_text("There is no run 'gone'")


def test_it_is_accessible_in_light_and_dark_and_fits_any_width(page: Any, swept: str) -> None:
    page.goto(link(swept, HOSTILE, "forgot", "slow"))
    page.locator(".compare-first").wait_for()
    page.locator(".parallel").wait_for()
    assert_accessible(page)
    assert_fits(page)
