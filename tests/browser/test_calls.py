"""A profile of cProfile's in a real browser."""

from __future__ import annotations

import cProfile
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.recordings import serving_folders
from torch_debugger.viewer.traces import read_call_profile


def load() -> None:
    time.sleep(0.02)
    decode("a" * 50_000)


def decode(text: str) -> int:
    return sum(map(ord, text))


def walk(depth: int) -> int:
    return 1 if depth == 0 else walk(depth - 1) + walk(depth - 1)


def main() -> None:
    load()
    walk(11)
    decode("b" * 100_000)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("profiles") / "train.prof"
    profiler = cProfile.Profile()
    profiler.runcall(main)
    profiler.dump_stats(path)
    told = {"train.prof": read_call_profile(str(path))}
    with serving_folders({}, call_profiles=told | {"other <b>.prof": told["train.prof"]}) as address:
        yield address


def test_the_icicle_is_opened_part_by_part(page: Any, shown: str) -> None:
    page.goto(shown)
    icicle = page.get_by_role("group", name="Time by function")
    expect(icicle.get_by_role("button", name="main:")).to_be_visible()
    icicle.get_by_role("button", name="load:").click()
    expect(icicle.get_by_role("button", name="walk:")).to_have_count(0)
    expect(icicle.get_by_role("button", name="decode:")).to_be_visible()
    page.keyboard.press("Escape")
    expect(icicle.get_by_role("button", name="walk:")).to_have_count(1)  # its recursion is in one bar
    page.keyboard.press("ArrowDown")
    expect(page.locator(".icicle-told")).to_contain_text("% of main")
    expect(page.get_by_text("which is an estimate")).to_be_visible()


def test_the_table_sorts_by_every_column_and_finds_and_another_profile_is_chosen(page: Any, shown: str) -> None:
    page.goto(shown)
    table = page.get_by_role("region", name="Functions").last
    first = table.get_by_role("row").nth(1)
    expect(table.get_by_role("columnheader", name="Own time")).to_have_attribute("aria-sort", "descending")
    table.get_by_role("button", name="Calls").click()
    expect(table.get_by_role("columnheader", name="Calls")).to_have_attribute("aria-sort", "descending")
    page.wait_for_url("**sort=calls**")
    table.get_by_role("button", name="Function", exact=True).click()
    expect(first).to_contain_text("<")
    page.get_by_label("Find").fill("walk")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(first).to_contain_text("4,095/1")
    first.get_by_role("button", name="walk").click()
    expect(page.get_by_role("heading", name="Below walk")).to_be_visible()
    page.get_by_role("button", name="Show all functions").click()
    expect(page.get_by_role("heading", name="Time by function")).to_be_visible()
    page.locator(".field select").select_option("other <b>.prof")
    expect(page.get_by_role("heading", level=1)).to_have_text("other <b>.prof")


def test_it_is_accessible_in_light_and_dark_and_fits_any_width(page: Any, shown: str) -> None:
    page.goto(shown)
    page.locator(".icicle").wait_for()
    assert_accessible(page)
    assert_fits(page)
