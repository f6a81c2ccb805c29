"""The curves of real runs in a real browser."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_fits
from tests.browser.recordings import serving
from tests.browser.sweep import HOSTILE
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import RunFact, Scalars


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for a run with 100,000 points of one tag, one of them NaN, and for one without any."""
    root = tmp_path_factory.mktemp("long")
    fact = RunFact("train.py", (), "", 1, 1.7e9, "3", "2", "cpu", "0", 0.02, False)
    writer = LogWriter(root / "long", on_fault=print, limit_bytes=10**9)
    writer.add(fact)
    for step in range(100_000):
        value = math.nan if step == 50_000 else 50.0 if step == 12_345 else 1 / (1 + step / 1e4)
        writer.add(Scalars(step, 1.7e9 + step / 100, {"loss": value}))
        if step % 4000 == 0:
            writer.flush()
    writer.close()
    empty = LogWriter(root / "empty", on_fault=print)
    empty.add(fact)
    empty.close()
    with serving(root) as address:
        yield address


def chart_of(page: Any, tag: str) -> Any:
    return page.get_by_role("article", name=tag, exact=True).get_by_role("img")


def wait_for_link(page: Any, pattern: str) -> None:
    page.wait_for_url(re.compile(pattern))


def drag(page: Any, chart: Any, start: float, end: float) -> None:
    box = chart.locator(".u-over").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, y, steps=4)
    page.mouse.move(box["x"] + box["width"] * end, y, steps=4)
    page.mouse.up()


def test_the_loss_comes_first_and_is_told_in_words(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=healthy")
    chart = chart_of(page, "loss")
    chart.wait_for()
    words = chart.get_attribute("aria-label")
    assert re.match(r"loss, by step\. First [\d.]+ at step \d, last [\d.]+ at step \d+, least .*no NaN", words)
    assert page.get_by_role("article").first.get_attribute("aria-label") == "loss"


def test_the_step_of_a_finding_is_marked_and_what_is_not_finite_is_marked_and_counted(page: Any, served: str) -> None:
    with page.expect_response(lambda reply: "ask/marks" in reply.url) as told:
        page.goto(f"{served}#/curves?run=broken&smooth=0")
    assert told.value.json()["marks"][0]["name"] == "missing-zero-grad"
    chart_of(page, "loss").wait_for()
    page.goto(f"{served}#/curves?run=nan&smooth=0")
    chart = chart_of(page, "loss")
    chart.wait_for()
    expect(page.get_by_role("article", name="loss", exact=True)).to_contain_text(re.compile(r"\d+ NaN"))
    expect(chart).to_have_attribute("aria-label", re.compile(r"\d+ NaN"))
    assert _has_colour_of(page, chart, "--notfinite")


def _has_colour_of(page: Any, chart: Any, name: str) -> bool:
    """Whether any pixel of the canvas has the colour of this variable."""
    look = """([chart, name]) => {
        const probe = document.createElement("i");
        probe.style.color = `var(${name})`;
        document.body.append(probe);
        const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
        probe.remove();
        const canvas = chart.querySelector("canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4)
            if (data[at] === r && data[at + 1] === g && data[at + 2] === b && data[at + 3] === 255) return true;
        return false;
    }"""
    found: bool = page.evaluate(look, [chart.element_handle(), name])
    return found


def test_a_box_zooms_all_charts_and_the_link_keeps_it(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=healthy")
    chart = chart_of(page, "loss")
    chart.wait_for()
    drag(page, chart, 0.25, 0.75)
    wait_for_link(page, r"from=\d+(\.\d+)?&to=\d+")
    low, high = (float(each) for each in re.findall(r"(?:from|to)=([\d.]+)", page.url))
    assert 20 < low < 28
    assert 68 < high < 76
    page.locator("form").get_by_role("button", name="Show all").click()
    wait_for_link(page, r"^(?!.*from=)")
    chart.focus()
    page.keyboard.press("+")
    wait_for_link(page, r"from=")
    page.keyboard.press("0")
    wait_for_link(page, r"^(?!.*from=)")


def test_a_hundred_thousand_points_can_be_looked_at_closely(page: Any, long: str) -> None:
    page.goto(f"{long}#/curves?run=long&smooth=0")
    chart = chart_of(page, "loss")
    chart.wait_for()
    assert "most 50, 1 NaN" in chart.get_attribute("aria-label")
    with page.expect_response(lambda reply: "from=" in reply.url):
        drag(page, chart, 0.45, 0.55)
    wait_for_link(page, r"from=")
    page.goto(f"{long}#/curves?run=long&smooth=0&from=12335&to=12355")
    page.get_by_role("img", name=re.compile("First .* at step 12,33")).wait_for()


def test_the_filter_is_a_regular_expression(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=healthy")
    chart_of(page, "loss").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("^time/")
    chart_of(page, "time/step_s").wait_for()
    chart_of(page, "loss").wait_for(state="detached")
    box = page.get_by_role("searchbox", name="Filter tags")
    box.fill("loss(")
    page.get_by_role("alert").get_by_text("Not a regular expression").wait_for()
    box.fill("nothing has this name")
    page.get_by_text("No tag matches the filter.").wait_for()


def test_runs_are_overlaid_and_grouped(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/curves?run=seed0")
    chart_of(page, "loss").wait_for()
    page.get_by_text("Overlay runs").click()
    page.get_by_label(HOSTILE).check()
    page.get_by_label("slow").check()
    card = page.get_by_role("article", name="loss", exact=True)
    card.get_by_role("button", name=re.compile("^slow")).wait_for()
    page.get_by_label("group by").select_option("lr")
    card.get_by_role("button", name=re.compile(r"lr = 0\.2 \(2 runs\)")).wait_for()
    line = card.get_by_role("button", name=re.compile(r"lr = 0\.01 \(1 run\)"))
    line.click()
    expect(line).to_have_attribute("aria-pressed", "false")
    card.get_by_text("Save").click()
    with page.expect_download() as saved:
        card.get_by_role("button", name="CSV").click()
    head, *rows = csv.reader(Path(saved.value.path()).read_text().splitlines())
    assert head[:2] == ["run", "step"]
    assert {row[0] for row in rows} == {"seed0", HOSTILE, "slow"}


SAVED = {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"step,seconds_since_1970,value\n1,"}


def test_a_chart_can_be_saved(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=healthy&q=user/loss/train")
    card = page.get_by_role("article", name="user/loss/train")
    card.get_by_role("img").wait_for()
    contents = {}
    for kind, begins in SAVED.items():
        if not card.get_by_role("button", name=kind).is_visible():
            card.get_by_text("Save").click()
        with page.expect_download() as saved:
            card.get_by_role("button", name=kind).click()
        assert saved.value.suggested_filename.endswith(f".{kind.lower()}")
        contents[kind] = Path(saved.value.path()).read_bytes()
        assert contents[kind].startswith(begins)
    assert contents["CSV"].count(b"\n") == 97  # 96 steps and the head


def test_a_chart_can_be_seen_large_and_pinned(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=healthy")
    page.get_by_role("button", name="Larger view of loss", exact=True).click()
    wait_for_link(page, "tag=loss")
    page.get_by_role("button", name="Pin loss", exact=True).click()
    page.get_by_role("button", name="All curves").click()
    page.get_by_role("button", name=re.compile("^Pinned")).first.wait_for()
    page.go_back()
    wait_for_link(page, "tag=loss")


def test_every_x_draws(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=healthy&logx=1&logy=1")
    chart_of(page, "loss").wait_for()
    choice = page.get_by_label("x by")
    kinds = choice.locator("option").evaluate_all("all => all.map((each) => each.value)")
    assert kinds == ["step", "epoch", "relative", "time", "samples"]
    for kind in kinds[1:]:
        with page.expect_response(lambda reply: "ask/scalars" in reply.url) as told:
            choice.select_option(kind)
        assert told.value.ok
        chart_of(page, "loss").wait_for()


def test_a_run_without_scalars_says_so(page: Any, long: str) -> None:
    page.goto(f"{long}#/curves?run=empty")
    page.get_by_text("This run has logged no scalars yet.").wait_for()


def test_no_width_scrolls_sideways(page: Any, served: str) -> None:
    page.goto(f"{served}#/curves?run=nan")
    chart_of(page, "loss").wait_for()
    assert_fits(page)
