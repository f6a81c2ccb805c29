"""The table of runs in a real browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.recordings import serving
from tests.browser.sweep import HOSTILE


def open_table(page: Any, address: str, query: str = "") -> Any:
    page.goto(f"{address}#/runs{query}")
    table = page.get_by_role("table", name="Runs, with their verdicts")
    table.get_by_role("img", name="Loss of slow").wait_for()
    return table


def names(page: Any) -> list[str]:
    return list(page.locator(".runs-name a").all_inner_texts())


def test_each_run_has_its_verdict_loss_and_what_differs(page: Any, swept: str) -> None:
    table = open_table(page, swept)
    heads = table.get_by_role("columnheader").all_inner_texts()
    row = table.get_by_role("row", name="forgot")
    assert {"Run", "Verdict", "Last loss", "Duration", "lr", "seed"} <= set(heads)
    assert not {"optimizer.lr", "momentum", "Status", "Steps"} & set(heads), "said already, or the same in all"
    expect(row).to_contain_text("error")
    expect(row).to_contain_text("have not been cleared")
    expect(page.get_by_text("4 runs, 1 with an error.")).to_be_visible()


def test_a_column_that_is_the_same_in_all_runs_is_shown_when_it_is_ticked(page: Any, swept: str) -> None:
    open_table(page, swept)
    page.get_by_text("not shown").click()
    page.get_by_label("Status", exact=True).check()
    page.get_by_label("Duration").uncheck()
    page.reload()
    table = open_table(page, swept)
    expect(table.get_by_role("row", name="forgot")).to_contain_text("Finished")
    expect(table.get_by_role("columnheader", name="Duration")).to_have_count(0)


def test_what_is_pressed_is_large_enough_and_lies_over_nothing(page: Any, swept: str) -> None:
    page.set_viewport_size({"width": 768, "height": 900})
    table = open_table(page, swept)
    sizes = "every => every.map(each => each.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"
    assert min(table.locator("input, button").evaluate_all(sizes)) >= 24
    page.locator(".runs-box").evaluate("box => box.scrollLeft = 200")
    name, verdict = (table.locator(f"tbody td:nth-child({place})").first for place in (2, 5))
    assert name.bounding_box()["x"] + name.bounding_box()["width"] <= verdict.bounding_box()["x"]
    expect(page.locator(".runs-more")).to_be_visible()
    page.emulate_media(media="print")
    for hidden in (".runs-filters", ".runs-columns", ".runs-table .button", ".runs-table input"):
        expect(page.locator(hidden).first).to_be_hidden()
    assert page.locator(".runs-table").bounding_box()["width"] <= 768


def test_it_sorts_by_a_hyperparameter_and_the_address_keeps_it(page: Any, swept: str) -> None:
    table = open_table(page, swept)
    table.get_by_role("button", name="lr").click()
    expect(table.get_by_role("columnheader", name="lr")).to_have_attribute("aria-sort", "ascending")
    assert names(page)[0] == "slow"
    table.get_by_role("button", name="lr").click()
    assert names(page)[-1] == "slow"
    page.reload()
    table.get_by_role("img", name="Loss of slow").wait_for()
    expect(page.locator(".runs-name a").last).to_have_text("slow")


def test_it_filters_by_pattern_hyperparameter_and_verdict(page: Any, swept: str) -> None:
    open_table(page, swept)
    page.keyboard.press("/")
    page.keyboard.type("^(slow|seed0)$")
    expect(page.get_by_text("2 runs of 4")).to_be_visible()
    assert sorted(names(page)) == ["seed0", "slow"]
    page.get_by_label("Filter").fill("lr=0.01")
    expect(page.locator(".runs-name a")).to_have_text(["slow"])
    page.get_by_label("Filter").fill("[")
    expect(page.get_by_text("Not a valid pattern")).to_be_visible()
    page.get_by_role("button", name="Show all runs").click()
    page.get_by_label("Verdict").select_option("error")
    expect(page.locator(".runs-name a")).to_have_text(["forgot"])


def test_a_hostile_name_is_only_a_name(page: Any, swept: str) -> None:
    open_table(page, swept)
    page.get_by_role("link", name=HOSTILE).click()
    page.wait_for_url("**/#/verdict**")
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


def test_two_that_are_selected_are_compared(page: Any, swept: str) -> None:
    open_table(page, swept)
    page.get_by_label(f"Select {HOSTILE}").check()
    page.get_by_label("Select seed0").check()
    page.get_by_role("button", name="Compare 2 runs").click()
    expect(page.get_by_role("heading", name="Two runs compared")).to_be_visible()
    expect(page.locator(".compare-pair")).to_have_text(f"{HOSTILE} and seed0")


def test_names_tags_and_notes_are_kept_and_a_deletion_must_be_typed(page: Any, sweep: Path, tmp_path: Path) -> None:
    shutil.copytree(sweep, tmp_path / "runs")
    with serving(tmp_path / "runs") as address:
        open_table(page, address, "?run=slow")
        page.get_by_role("button", name="Edit seed0").click()
        expect(page.get_by_label("Name shown in the table")).to_be_focused()
        page.keyboard.type("the <b>best</b> one")
        page.get_by_label("Note").fill("Look at its last steps.")
        page.get_by_label("Tags, separated by commas").fill("paper, final")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("link", name="the <b>best</b> one")).to_be_visible()
        expect(page.get_by_role("button", name="Edit the <b>best</b> one")).to_be_focused()
        expect(page.locator(".runs-word")).to_have_text("What you wrote on seed0 is saved.")
        expect(page.get_by_text("Look at its last steps.")).to_be_visible()
        tags = page.locator(".runs-filters label").filter(has_text="Tag").locator("select")
        tags.select_option("paper")
        expect(page.locator(".runs-name a")).to_have_text(["the <b>best</b> one"])
        tags.select_option("")
        page.goto(f"{address}#/compare?runs=seed0,slow")
        expect(page.locator(".compare-pair")).to_have_text("the <b>best</b> one and slow")
        open_table(page, address, "?run=slow")
        page.get_by_role("button", name="Edit forgot").click()
        delete = page.get_by_role("button", name="Delete from disk")
        expect(delete).to_be_disabled()
        page.get_by_label("Name of the run to delete").fill("forgo")
        expect(delete).to_be_disabled()
        page.get_by_label("Name of the run to delete").fill("forgot")
        delete.click()
        expect(page.get_by_text("3 runs.")).to_be_visible()
        expect(page.locator(".runs-box")).to_be_focused()
        expect(page.locator(".runs-word")).to_have_text("forgot is deleted.")
        page.goto("about:blank")  # it would miss the server
    assert not list((tmp_path / "runs").glob("forgot/*tfevents*"))
    assert list((tmp_path / "runs" / "seed0").glob("*tfevents*"))


def test_of_a_thousand_runs_only_those_in_sight_are_in_the_page(page: Any, sweep: Path, tmp_path: Path) -> None:
    told = json.loads((sweep / "slow" / "result.json").read_text())
    log = next((sweep / "slow").glob("*tfevents*"))
    for number in range(1000):
        folder = tmp_path / f"run-{number:04}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps({**told, "steps": number}))
        (folder / log.name).hardlink_to(log)
    with serving(tmp_path) as address:
        page.goto(f"{address}#/runs?sort=steps&down=0")
        expect(page.get_by_text("1,000 runs.")).to_be_visible()
        expect(page.locator(".runs-name a").first).to_have_text("run-0000")
        assert page.locator(".runs-table tbody tr").count() < 80
        page.locator(".runs-box").evaluate("box => box.scrollTop = box.scrollHeight")
        expect(page.locator(".runs-name a").last).to_have_text("run-0999")
        assert page.locator(".runs-table tbody tr").count() < 80
        page.goto("about:blank")  # it would miss the server


def test_parallel_lines_tell_which_run_they_are(page: Any, swept: str) -> None:
    open_table(page, swept)
    plot = page.get_by_role("img", name="4 runs over")
    plot.locator(".parallel-line").first.dispatch_event("mouseenter")
    expect(page.locator(".parallel-said")).to_contain_text("last loss")
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("table", name="Runs and their values").get_by_role("row")).to_have_count(5)


def test_it_is_accessible_in_light_and_dark_and_fits_any_width(page: Any, swept: str) -> None:
    open_table(page, swept, "?runs=slow")
    assert_accessible(page)
    page.get_by_role("button", name="Edit slow").click()
    page.get_by_role("dialog").wait_for()
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert_fits(page, (360, 1400, 3840))
