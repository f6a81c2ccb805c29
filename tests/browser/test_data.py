"""The view of the data: what the model was really given, step by step."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.polling import wait_until

_BRIGHTNESS = """canvas => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return [Math.min(...pixels), Math.max(...pixels)];
}"""

_SUM = """canvas => {
  const {width, height} = canvas;
  return canvas.getContext("2d").getImageData(0, 0, width, height).data.reduce((sum, each) => sum + each, 0);
}"""


def open_data(page: Any, served: str, run: str, more: str = "") -> None:
    page.goto(f"{served}#/data?run={run}{more}")
    page.get_by_role("heading", name="Data", level=1).wait_for()
    page.get_by_role("heading", name="Batches as the model saw them").wait_for()


def test_pictures_are_drawn_with_their_labels(page: Any, data_served: str) -> None:
    open_data(page, data_served, "images")
    page.get_by_role("region", name="input input").wait_for()
    pictures = page.locator(".data-picture")
    assert pictures.count() == 8
    assert re.search(r"40 by 40 pixels, class [0-3]$", pictures.first.get_attribute("aria-label"))
    low, high = pictures.first.evaluate(_BRIGHTNESS)
    assert low < 100 and high == 255  # the opacity
    about = page.get_by_text(re.compile(r"float32 32 x 3 x 80 x 80; from -0\.\d+ to 1\.\d+"))
    assert "the first 8 of 32" in about.inner_text()


def test_the_step_is_chosen_and_kept_in_the_address(page: Any, data_served: str) -> None:
    open_data(page, data_served, "images")
    page.locator(".data-picture").first.wait_for()
    before = page.locator(".data-picture").first.evaluate(_SUM)
    page.get_by_label("Step", exact=True).focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, "location.hash.includes('step=2')")
    wait_until(page, f"before => ({_SUM})(document.querySelector('.data-picture')) !== before", before)
    page.reload()
    page.locator("output", has_text="step 2").wait_for()


def test_labels_ranges_and_loaders_are_told(page: Any, data_served: str) -> None:
    open_data(page, data_served, "images")
    bars = page.locator(".data-bars li")
    bars.first.wait_for()
    assert bars.count() == 4
    shares = [float(re.search(r"([\d.]+) %", text)[1]) for text in bars.all_inner_texts()]  # type: ignore[index]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    ranges = page.get_by_role("table", name="Ranges of inputs and targets")
    assert "batch[0]" in ranges.inner_text() and "cross_entropy" in ranges.inner_text()
    loaders = page.get_by_role("table", name="The DataLoaders of the run").inner_text()
    assert "TensorDataset" in loaders and "none of 320" in loaders
    page.get_by_text("None of the checks of the data has found anything").wait_for()


def test_a_nan_of_the_data_is_told_counted_and_has_its_colour(page: Any, data_served: str) -> None:
    open_data(page, data_served, "gaps")
    found = page.get_by_role("region", name="What the checks found in the data")
    found.get_by_text("Evidence and fix").first.wait_for()
    assert "None of the checks" not in found.inner_text()
    ranges = page.get_by_role("table", name="Ranges of inputs and targets")
    ranges.wait_for()
    assert "not counted" not in ranges.inner_text() and "all of it" in ranges.inner_text()
    odd, plain = (
        page.locator(which).first.evaluate("cell => getComputedStyle(cell).color")
        for which in (".data-notfinite", "td")
    )
    assert odd != plain


def test_tokens_show_their_positions_and_padding(page: Any, data_served: str) -> None:
    open_data(page, data_served, "tokens")
    rows = page.get_by_role("region", name="Rows of input_ids")
    rows.wait_for()
    assert rows.locator("ol").count() == 8
    assert rows.locator(".data-padding").count() > 0
    assert rows.locator(".data-padding").first.get_attribute("title").endswith(": 0, padding")
    page.get_by_text("0 is the target that does not count in the loss").wait_for()
    widths = rows.locator("li").evaluate_all("chips => [...new Set(chips.map(chip => Math.round(chip.offsetWidth)))]")
    assert len(widths) == 1  # rows can be compared column by column


def test_series_are_strips_of_one_scale(page: Any, data_served: str) -> None:
    open_data(page, data_served, "series")
    page.locator(".data-strip").first.wait_for()
    assert page.locator(".data-series li").count() == 8
    assert page.locator(".data-strip").count() == 24
    assert page.locator(".data-strip path").first.get_attribute("d").startswith("M0.0,")
    page.get_by_role("table", name="The first rows of MseLoss").wait_for()


def test_it_is_accessible_and_narrow(page: Any, data_served: str) -> None:
    for run in ("images", "tokens", "series"):
        page.set_viewport_size({"width": 1400, "height": 900})
        open_data(page, data_served, run)
        page.locator(".data-tensor").first.wait_for()
        assert_accessible(page)
        assert_fits(page)


def test_without_samples_it_says_why_and_a_fallen_first_step_shows_its_batch(page: Any, data_served: str) -> None:
    page.goto(f"{data_served}#/data?run=hostile")
    page.get_by_text("this log was written by another tool").wait_for()
    open_data(page, data_served, "fallen")
    page.get_by_text("float32 8 x 10").wait_for()
