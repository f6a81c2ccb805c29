"""The layers of recorded runs in a real Chromium: colours, keys, the panel of one layer."""

from __future__ import annotations

import re
from typing import Any

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.polling import wait_until

NOT_FINITE = (214, 0, 108)  # --notfinite in the light theme


def open_layers(page: Any, served: str, run: str, **chosen: str) -> Any:
    page.emulate_media(color_scheme="light")
    given = "".join(f"&{name}={value}" for name, value in chosen.items())
    page.goto(f"{served}#/layers?run={run}{given}")
    page.get_by_role("application").wait_for()
    wait_until(page, "document.querySelector('.heat-canvas')?.width > 10")
    return page.get_by_role("application")


def pixels(page: Any, colour: tuple[int, int, int]) -> int:
    """How many of the map have this colour."""
    return int(
        page.evaluate(
            """([red, green, blue]) => {
                const canvas = document.querySelector(".heat-canvas");
                const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                let found = 0;
                for (let at = 0; at < bytes.length; at += 4)
                    if (bytes[at] === red && bytes[at + 1] === green && bytes[at + 2] === blue) found += 1;
                return found;
            }""",
            list(colour),
        )
    )


def test_nan_has_a_colour_of_its_own(page: Any, served: str) -> None:
    open_layers(page, served, "nan", number="activation.std")
    page.get_by_text("NaN or infinite in 3 of 3 layers").wait_for()
    assert pixels(page, NOT_FINITE) > 500
    open_layers(page, served, "healthy", number="activation.std")
    page.get_by_text("model.6").wait_for()
    assert pixels(page, NOT_FINITE) == 0


def test_the_map_is_read_and_opened_by_keys(page: Any, served: str) -> None:
    field = open_layers(page, served, "healthy", number="activation.zeros")
    field.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Home"):
        page.keyboard.press(key)
    said = page.locator(".heat-readout")
    assert re.fullmatch(r"model\.2, step 1: [a-z ]+ \d[\d.]* %", said.text_content()), said.text_content()
    assert said.get_attribute("aria-live") == "polite"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="model.2").wait_for()
    assert "layer=model.2" in page.url
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="model.2").wait_for(state="detached")
    wait_until(page, "document.activeElement.className === 'heat-scroll'")


def test_a_click_opens_the_layer_with_all_that_is_known_of_it(page: Any, served: str) -> None:
    open_layers(page, served, "healthy", number="parameter.weight")
    box = page.locator(".heat-canvas").bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 5)  # the first layer
    panel = page.get_by_role("complementary", name="Layer model.0")
    panel.get_by_text("healthy.py:12").wait_for()
    assert "optimizer (Adam), lr 0.001" in panel.inner_text()
    assert re.search(r"8 . 1 . 3 . 3, float32 on cpu", panel.inner_text())
    assert "bias-before-batchnorm" in page.get_by_title("bias-before-batchnorm").first.get_attribute("title")
    panel.get_by_role("img", name="Spread of model.0 at").wait_for()
    panel.get_by_role("radio", name="Heat").check()
    wait_until(page, "document.querySelector('.layers-spread-heat canvas')?.width > 10")
    assert "form=heat" in page.url
    assert panel.get_by_role("img", name="Size of weights of model.0").count() == 1


def test_layers_are_filtered_and_steps_zoomed(page: Any, served: str) -> None:
    field = open_layers(page, served, "nan", number="parameter.gradient")
    page.keyboard.press("/")
    page.keyboard.type("2")
    page.get_by_text("1 layer of 2").wait_for()
    assert page.locator(".heat-label").count() == 1
    page.keyboard.press("Control+a")
    page.keyboard.type("nobody")
    page.get_by_text("No layer has “nobody” in its name.").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    field.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    page.get_by_role("button", name="All steps").wait_for()
    assert "from=" in page.url and "to=" in page.url
    wait_until(page, "document.activeElement.className === 'heat-scroll'")
    page.keyboard.press("0")
    page.get_by_role("button", name="All steps").wait_for(state="detached")


def test_a_drag_over_the_map_zooms(page: Any, served: str) -> None:
    open_layers(page, served, "nan", number="parameter.gradient")
    box = page.locator(".heat-canvas").bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 8, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="All steps").wait_for()
    assert "layer=" not in page.url


def test_everybody_can_use_it_at_any_width(page: Any, served: str) -> None:
    open_layers(page, served, "nan", layer="model.0")
    page.get_by_role("img", name="Spread of model.0 at").wait_for()
    assert_accessible(page)
    assert_fits(page, (360, 1400, 3840))
