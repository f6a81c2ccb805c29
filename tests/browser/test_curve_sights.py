"""What of a curve is in sight: zooming by mouse, touch and keys, the link to it, and the way back."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import forgiving_page
from tests.browser.polling import wait_until
from tests.browser.test_curves import chart_of, drag, wait_for_link


def open_curves(page: Any, served: str, choices: str = "") -> Any:
    page.goto(f"{served}#/curves?run=healthy{choices}")
    chart = chart_of(page, "loss")
    chart.wait_for()
    return chart


def drawn(chart: Any) -> str:
    picture: str = chart.evaluate("chart => chart.querySelector('canvas').toDataURL()")
    return picture


def test_words_tell_of_what_is_in_sight_and_of_a_sight_without_points(page: Any, served: str) -> None:
    chart = open_curves(page, served, "&smooth=0&from=9.5&to=20.5")
    assert re.search(r"First [\d.]+ at step 10, last [\d.]+ at step 20,", chart.get_attribute("aria-label"))
    page.get_by_role("article", name="loss", exact=True).get_by_text("last in sight").wait_for()
    open_curves(page, served, "&from=500&to=600")
    card = page.get_by_role("article", name="loss", exact=True)
    card.get_by_text("No points here.").get_by_role("button", name="Show all").click()
    wait_for_link(page, r"^(?!.*from=)")
    card.get_by_text("No points here.").wait_for(state="detached")


SIGHTS = {  # what the curves are opened with, and what the link keeps of a box that was drawn
    "&tag=loss": r"from=.*&low=.*&high=",
    "&apart=1": r"zooms=.*loss",
    "": r"from=(?!.*low=)",
}


def test_a_link_shows_the_same_sight(page: Any, served: str) -> None:
    for choices, kept in SIGHTS.items():
        page.goto("about:blank")
        chart = open_curves(page, served, f"&smooth=0{choices}")
        box = chart.locator(".u-over").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.8, steps=5)
        page.mouse.up()
        wait_for_link(page, kept)
        page.mouse.move(0, 0)
        page.wait_for_load_state("networkidle")
        before, words = drawn(chart), chart.get_attribute("aria-label")
        page.reload()
        chart_of(page, "loss").wait_for()
        same = "([words, picture]) => [...document.querySelectorAll('[role=img]')].some(chart =>"
        same += " chart.ariaLabel === words && chart.querySelector('canvas')?.toDataURL() === picture)"
        wait_until(page, same, [words, before])


def test_fingers_zoom_and_move_a_chart_and_not_the_page(browser: Any, served: str) -> None:
    with forgiving_page(browser, has_touch=True) as page:
        page.set_viewport_size({"width": 800, "height": 800})
        use_fingers(page, open_curves(page, served))


def use_fingers(page: Any, chart: Any) -> None:
    box = chart.locator(".u-over").bounding_box()
    wire = page.context.new_cdp_session(page)

    def touch(kind: str, *places: float) -> None:
        points = [
            {"x": box["x"] + box["width"] * place, "y": box["y"] + 80, "id": number}
            for number, place in enumerate(places)
        ]
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.4, 0.6)
    touch("touchMove", 0.3, 0.7)
    touch("touchMove", 0.2, 0.8)
    touch("touchEnd")
    # The link follows every move: the last one is waited for.
    page.wait_for_url(lambda url: "from=" in url and _width(url) == pytest.approx(95 / 3, rel=0.2))
    low, high = _range(page.url)
    touch("touchStart", 0.7)
    for place in (0.6, 0.4, 0.2):
        touch("touchMove", place)
    touch("touchEnd")
    page.wait_for_url(lambda url: _range(url)[0] == pytest.approx(low + 0.5 * (high - low), rel=0.1))
    moved, _ = _range(page.url)
    assert page.evaluate("visualViewport.scale") == 1
    page.get_by_role("article", name="loss", exact=True).get_by_role("button", name="Zoom out").click()
    wait_for_link(page, f"from=(?!{moved})")


def _width(url: str) -> float:
    low, high = _range(url)
    return high - low


def _range(url: str) -> tuple[float, float]:
    low, high = re.findall(r"(?:from|to)=(-?[\d.]+)", url)
    return float(low), float(high)


def test_charts_of_other_lengths_share_the_crosshair_after_a_zoom(page: Any, served: str) -> None:
    chart = open_curves(page, served, "&smooth=0&q=^loss$|/step_s$")
    drag(page, chart, 0.2, 0.6)
    wait_for_link(page, "from=")
    page.mouse.dblclick(*_middle(chart))
    wait_for_link(page, r"^(?!.*from=)")
    page.wait_for_load_state("networkidle")
    steps = page.locator(".chart-at").all_inner_texts()
    assert len(steps) > 1
    assert all(re.fullmatch(r"step (4[6-9]|50)", step) for step in steps), steps


def test_moving_stays_near_the_data_and_is_silent(page: Any, served: str) -> None:
    chart = open_curves(page, served)
    page.mouse.move(*_middle(chart))
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -300)
    wait_for_link(page, "from=")
    page.mouse.down()
    for _ in range(3):
        page.mouse.move(_middle(chart)[0] + 4000, _middle(chart)[1], steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    wait_for_link(page, "from=-")
    low, high = _range(page.url)
    assert (low + high) / 2 == pytest.approx(1, abs=0.1)  # half of it is still on the data


def _middle(chart: Any) -> tuple[float, float]:
    box = chart.locator(".u-over").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_settings_outlive_a_look_at_another_view(page: Any, served: str) -> None:
    open_curves(page, served, "&smooth=0.9&logy=1")
    views = page.get_by_role("navigation").first
    views.get_by_role("link", name="Verdict").click()
    wait_for_link(page, "verdict")
    views.get_by_role("link", name="Curves").click()
    wait_for_link(page, "curves.*smooth=0.9&logy=1")


def test_menus_close_on_escape_and_on_a_press_outside(page: Any, served: str) -> None:
    open_curves(page, served)
    save = page.get_by_role("article", name="loss", exact=True).locator("details")
    runs = page.locator(".curves-runs")
    for menu in (save, runs):
        menu.locator("summary").click()
        page.keyboard.press("Escape")
        assert menu.get_attribute("open") is None
        menu.locator("summary").click()
        page.get_by_text(re.compile(r"^\d+ tags$")).click()
        assert menu.get_attribute("open") is None


def test_the_large_view_takes_the_focus_and_gives_it_back(page: Any, served: str) -> None:
    open_curves(page, served)
    page.get_by_role("button", name="Larger view of grad_norm", exact=True).click()
    wait_for_link(page, "tag=grad_norm")
    page.locator("h1:focus", has_text="Curve of grad_norm").wait_for(state="attached")
    page.get_by_label("x by").select_option("time")
    assert page.get_by_label("log x").is_disabled()
    page.keyboard.press("Escape")
    wait_for_link(page, r"^(?!.*tag=)")
    page.locator("article[aria-label=grad_norm]:focus").wait_for()


def test_a_picture_is_for_paper_whatever_the_theme(page: Any, served: str) -> None:
    page.emulate_media(color_scheme="dark")
    open_curves(page, served)
    card = page.get_by_role("article", name="loss", exact=True)
    card.get_by_text("Save").click()
    with page.expect_download() as saved:
        card.get_by_role("button", name="PNG").click()
    content = base64.b64encode(Path(saved.value.path()).read_bytes()).decode()
    look = """async (content) => {
        const image = new Image();
        image.src = `data:image/png;base64,${content}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        canvas.getContext("2d").drawImage(image, 0, 0);
        return [image.width, ...canvas.getContext("2d").getImageData(2, 2, 1, 1).data];
    }"""
    assert page.evaluate(look, content) == [1600, 255, 255, 255, 255]
