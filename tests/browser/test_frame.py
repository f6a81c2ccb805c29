from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.chromium import forgiving_page
from tests.browser.polling import wait_until
from tests.browser.recordings import serving


@pytest.fixture
def shown(page: Any, served: str) -> Any:
    page.goto(f"{served}#/verdict?run=broken")
    page.get_by_role("heading", level=1).wait_for()
    return page


def test_the_head_says_which_run_how_it_stands_and_how_long_and_can_be_skipped(shown: Any) -> None:
    head = shown.locator("header").inner_text()
    assert "torch-debugger" in head
    assert "broken" in head
    assert "Finished" in head
    assert "120 steps" in head
    expect(shown).to_have_title("broken · Finished · Verdict · torch-debugger")
    current = shown.get_by_role("navigation", name="Views").locator("[aria-current=page]")
    assert current.inner_text() == "Verdict"
    shown.keyboard.press("Tab")
    expect(shown.get_by_role("link", name="Go to the content")).to_be_focused()
    shown.keyboard.press("Enter")
    expect(shown.locator("#main")).to_be_focused()
    assert "run=broken" in shown.url


def test_a_run_is_found_among_a_thousand_by_the_keyboard_alone(page: Any, recordings: Path, tmp_path: Path) -> None:
    events = [path for path in (recordings / "broken").iterdir() if "tfevents" in path.name]
    for number in range(1000):
        folder = tmp_path / f"sweep-{number:05}"
        folder.mkdir()
        os.link(events[0], folder / events[0].name)
    shutil.copytree(recordings / "nan", tmp_path / "the one")
    with serving(tmp_path) as address:
        page.goto(address)
        page.get_by_role("button", name="Run:").wait_for()
        page.keyboard.press("r")
        field = page.get_by_role("combobox", name="Search for a run")
        expect(field).to_be_focused()
        expect(page.get_by_text("written last of 1,001 runs")).to_be_visible()
        assert page.get_by_role("option").count() == 200
        page.keyboard.type("ONE the")
        expect(page.get_by_role("option")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page).to_have_title(re.compile("^the one"))
        page.goto("about:blank")  # before the server goes


def test_the_arrow_keys_choose_and_escape_closes(shown: Any) -> None:
    shown.get_by_role("button", name="Run: broken").click()
    options = shown.get_by_role("option")
    expect(options).to_have_count(3)
    names = options.all_inner_texts()
    shown.keyboard.press("ArrowDown")
    field = shown.get_by_role("combobox")
    assert field.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    assert_accessible(shown)
    shown.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(shown.get_by_role("button", name="Run: broken")).to_be_focused()
    shown.keyboard.press("Enter")
    expect(options).to_have_count(3)
    shown.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id"))
    shown.keyboard.press("Enter")
    expect(shown).to_have_title(re.compile(f"^{names[1]}"))


def test_help_lists_the_keys_and_gives_the_focus_back(shown: Any) -> None:
    shown.get_by_role("button", name="Keys and help").click()
    dialog = shown.get_by_role("dialog", name="Keys")
    dialog.wait_for()
    assert "Next and previous run." in dialog.inner_text()
    assert_accessible(shown)
    shown.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(shown.get_by_role("button", name="Keys and help")).to_be_focused()


def test_brackets_walk_through_the_runs_and_digits_open_views_with_the_focus(shown: Any) -> None:
    runs = shown.evaluate("fetch('ask/names').then(reply => reply.json())")["runs"]
    place = runs.index("broken")
    key, other = ("]", runs[place + 1]) if place + 1 < len(runs) else ("[", runs[place - 1])
    shown.keyboard.press(key)
    expect(shown).to_have_title(re.compile(f"^{other}"))
    second = shown.get_by_role("navigation", name="Views").get_by_role("link").nth(1)
    title = second.inner_text()
    shown.keyboard.press("2")
    expect(shown.locator("[aria-current=page]")).to_have_text(title)
    expect(shown.locator("main:focus, main :focus")).to_have_count(1)


def test_keys_do_nothing_while_somebody_types(shown: Any) -> None:
    shown.keyboard.press("r")
    shown.get_by_role("combobox").wait_for()
    shown.keyboard.type("?2t]")
    expect(shown.get_by_role("combobox")).to_have_value("?2t]")
    expect(shown.get_by_role("dialog")).to_have_count(0)
    expect(shown).to_have_title(re.compile("^broken .* Verdict"))


def test_the_theme_is_kept(shown: Any) -> None:
    theme = "document.documentElement.dataset.theme"
    button = shown.get_by_role("button", name=re.compile("^Theme"))
    button.click()
    wait_until(shown, f"{theme} === 'light'")
    button.click()
    wait_until(shown, f"{theme} === 'dark'")
    shown.reload()
    button.wait_for()
    assert shown.evaluate(theme) == "dark"
    dark = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == "rgb(20, 23, 26)"


def test_a_folder_without_runs_says_so_and_shows_the_first_one_that_comes(
    page: Any, recordings: Path, tmp_path: Path
) -> None:
    with serving(tmp_path) as address:
        page.goto(address)
        page.get_by_text("There are no runs here yet.").wait_for()
        assert_accessible(page)
        shutil.copytree(recordings / "broken", tmp_path / "first")
        page.get_by_role("heading", level=1).wait_for()
        expect(page).to_have_title(re.compile("^first"))
        page.goto("about:blank")


def test_one_view_that_fails_or_does_not_exist_leaves_the_page(page: Any, served: str) -> None:
    page.route("**/ask/verdict?*", lambda route: route.fulfill(json={"has_verdict": True}))
    page.goto(f"{served}#/verdict?run=broken")
    page.get_by_text("Verdict could not be shown. The other views still work.").wait_for()
    assert page.get_by_role("navigation", name="Views").is_visible()
    page.goto(f"{served}#/nonsense?run=broken")
    page.get_by_text("There is no view called nonsense.").wait_for()
    page.unroute("**/ask/verdict?*")
    page.goto(f"{served}#/verdict?run=broken")
    page.reload()
    page.get_by_role("heading", level=1).wait_for()


def test_damage_of_the_log_is_told_quietly(page: Any, recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings / "broken", tmp_path / "cut")
    largest = max((tmp_path / "cut").glob("*tfevents*"), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = (byte ^ 0xFF for byte in content[middle : middle + 40])
    largest.write_bytes(bytes(content))
    with serving(tmp_path) as address:
        page.goto(address)
        page.get_by_text("could not be read").first.wait_for()
        page.get_by_role("heading", level=1).wait_for()
        page.goto("about:blank")


def test_a_server_that_goes_away_is_told_and_its_return_and_a_run_that_is_not_there(browser: Any, served: str) -> None:
    with forgiving_page(browser) as page:
        page.goto(f"{served}#/verdict?run=broken")
        page.get_by_role("heading", level=1).wait_for()
        page.route("**/ask/**", lambda route: route.abort())  # a closed server, without the wait for its port
        page.get_by_text("The server does not answer; trying again.").wait_for()
        assert page.get_by_role("heading", level=1).is_visible()
        page.unroute("**/ask/**")
        expect(page.get_by_text("The server does not answer")).to_have_count(0)
        page.goto(f"{served}#/verdict?run=<img src=x>")
        page.get_by_text("The run <img src=x> is not here.").wait_for()
        assert page.locator("main img").count() == 0
        page.get_by_role("button", name="Run:").click()
        page.get_by_role("option", name="nan").click()
        expect(page).to_have_title(re.compile("^nan"))


def test_what_is_printed_is_light_and_has_no_navigation(shown: Any) -> None:
    shown.evaluate("document.documentElement.dataset.theme = 'dark'")
    shown.emulate_media(media="print")
    assert not shown.get_by_role("navigation", name="Views").is_visible()
    assert shown.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 35)"


def test_a_name_without_an_end_does_not_break_the_head(page: Any, recordings: Path, tmp_path: Path) -> None:
    name = "x" * 180 + "<b>"
    shutil.copytree(recordings / "broken", tmp_path / name)
    shutil.copytree(recordings / "nan", tmp_path / "other")
    with serving(tmp_path) as address:
        page.goto(f"{address}#/verdict?run={name}")
        page.get_by_role("heading", level=1).wait_for()
        assert page.get_by_role("button", name="Run:").get_attribute("title") == name
        assert_fits(page)
        page.goto("about:blank")
