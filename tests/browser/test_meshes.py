"""Meshes and point clouds, turned and moved from step to step."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.polling import wait_until

_RED = """canvas => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] && data[at] > 60 && data[at + 1] < 10) found += 1;
  return found;
}"""


def open_meshes(page: Any, address: str, more: str = "", run: str = "board") -> Any:
    page.goto(f"{address}#/mesh?run={run}{more}")
    page.get_by_role("heading", name="Meshes", level=1).wait_for()
    return page.get_by_role("img", name="tube at step")


def test_a_mesh_is_drawn_in_its_colors_and_turns(page: Any, boards_served: str) -> None:
    canvas = open_meshes(page, boards_served)
    canvas.wait_for()
    wait_until(page, f"canvas => ({_RED})(canvas) > 5000", canvas.element_handle())
    expect(page.get_by_text("48 points, 48 faces")).to_be_visible()
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 220, box["y"] + 140, steps=4)
    page.mouse.up()
    changed = "([canvas, before]) => canvas.toDataURL() !== before"
    wait_until(page, changed, [canvas.element_handle(), before])
    page.get_by_role("group", name="Sight of tube").get_by_role("button", name="Reset").click()
    wait_until(page, "([canvas, before]) => canvas.toDataURL() === before", [canvas.element_handle(), before])
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    wait_until(page, changed, [canvas.element_handle(), before])


def test_steps_names_and_a_cloud_without_colors(page: Any, boards_served: str) -> None:
    open_meshes(page, boards_served).wait_for()
    page.get_by_role("region", name="tube").get_by_role("slider", name="Step").focus()
    page.keyboard.press("Home")
    page.get_by_role("img", name="tube at step 0").wait_for()
    expect(page.get_by_role("region", name="<i>cloud</i>")).to_contain_text("300 points")
    assert page.locator("main i").count() == 0
    page.reload()
    page.get_by_role("img", name="tube at step 0").wait_for()
    assert_accessible(page)
    assert_fits(page)


def test_a_run_without_meshes_says_what_would_bring_them(page: Any, boards_served: str) -> None:
    open_meshes(page, boards_served, run="bare")
    page.get_by_text("This run has logged no meshes.").wait_for()
