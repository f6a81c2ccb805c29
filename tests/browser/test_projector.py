"""Embeddings in the projector: arranged, coloured, searched, and each point's neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.polling import wait_until
from tests.browser.space_recordings import KINDS, PER_KIND
from torch_debugger.api import write_report

_PIXELS = """
  const {width, height} = canvas;
  const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
"""
_COLOURS = f"""canvas => {{{_PIXELS}
  const found = new Set();
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] > 100) found.add([0, 1, 2].map(part => data[at + part] >> 6).join());
  return found.size;
}}"""
_FIRST = f"""canvas => {{{_PIXELS}
  const at = data.findIndex((value, at) => at % 4 === 3 && value > 150) >> 2;
  return [at % width / width * canvas.clientWidth, Math.floor(at / width) / height * canvas.clientHeight];
}}"""


def open_projector(page: Any, address: str, more: str = "", run: str = "board") -> Any:
    page.goto(f"{address}#/projector?run={run}{more}")
    page.get_by_role("heading", name="Projector", level=1).wait_for()
    return page.locator(".projector-canvas")


def drawn(page: Any, canvas: Any, colours: int = 1) -> None:
    canvas.wait_for()
    wait_until(page, f"canvas => ({_COLOURS})(canvas) >= {colours}", canvas.element_handle())


def test_points_have_the_colours_of_their_labels(page: Any, boards_served: str) -> None:
    canvas = open_projector(page, boards_served, "&pictures=no")
    drawn(page, canvas, 3)
    legend = page.get_by_role("region", name="Colours: label")
    for kind in KINDS:
        expect(legend.get_by_role("button", name=f"{kind} {PER_KIND}")).to_be_visible()
    expect(page.get_by_text("of the variance in 8 dimensions")).to_be_visible()
    legend.get_by_role("button", name="cat").click()
    expect(legend.get_by_role("button", name="cat")).to_have_attribute("aria-pressed", "true")
    assert page.locator("main b").count() == 0, "a label is text, whatever is in it"
    assert_accessible(page)


def test_a_picked_point_has_neighbours_of_its_kind(page: Any, boards_served: str) -> None:
    canvas = open_projector(page, boards_served, "&pictures=no")
    drawn(page, canvas)
    x, y = canvas.evaluate(_FIRST)
    canvas.click(position={"x": x + 2, "y": y + 3})
    page.get_by_role("heading", name="Nearest neighbours").wait_for()
    kind = page.locator("aside .panel").last.get_by_role("heading", level=2).inner_text()
    names = page.locator("ol.projector-list .projector-name")
    expect(names).to_have_count(12)
    assert kind in KINDS and set(names.all_inner_texts()) == {kind}
    near = page.locator("ol.projector-list .projector-number").all_inner_texts()
    assert [float(each) for each in near] == sorted(float(each) for each in near)
    page.get_by_role("radio", name="Cosine").check()
    wait_until(page, "Number(document.querySelector('ol .projector-number').textContent) < 1")
    page.locator("ol.projector-list button").first.click()
    assert_accessible(page)


def test_neighbours_in_more_dimensions_than_the_page_has_are_asked_for(page: Any, boards_served: str) -> None:
    canvas = open_projector(page, boards_served, "&tag=bare&point=7")
    drawn(page, canvas)
    expect(page.locator("ol.projector-list button")).to_have_count(12)
    expect(page.get_by_text("In all 60 dimensions.")).to_be_visible()
    expect(page.get_by_role("heading", name="point 7")).to_be_visible()


def test_tsne_comes_with_its_progress_and_keeps_what_it_made(page: Any, boards_served: str) -> None:
    canvas = open_projector(page, boards_served)
    page.get_by_role("radio", name="t-SNE").check()
    page.get_by_role("progressbar").wait_for()
    drawn(page, canvas)
    page.get_by_role("progressbar").wait_for(state="detached")
    page.get_by_role("radio", name="PCA").check()
    page.get_by_text("of the variance").wait_for()
    page.get_by_role("radio", name="t-SNE").check()
    drawn(page, canvas)
    assert page.get_by_role("progressbar").count() == 0
    page.get_by_role("radio", name="3D").check()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("progressbar").wait_for(state="detached")
    drawn(page, canvas)


def test_search_steps_and_turning(page: Any, boards_served: str) -> None:
    canvas = open_projector(page, boards_served, "&dims=3")
    drawn(page, canvas, 3)
    page.keyboard.press("/")
    page.keyboard.type("owl")
    page.get_by_text(f"{PER_KIND} points of {3 * PER_KIND}").wait_for()
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, "([canvas, before]) => canvas.toDataURL() !== before", [canvas.element_handle(), before])
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("Home")
    page.get_by_text("step 0", exact=True).wait_for()
    page.get_by_label("Embedding").select_option("bare")
    page.get_by_text("2,000 points in 60 dimensions").wait_for()


def test_it_is_narrow_and_empty_with_a_sentence(page: Any, boards_served: str) -> None:
    drawn(page, open_projector(page, boards_served, "&point=3"))
    assert_fits(page)
    open_projector(page, boards_served, run="bare")
    page.get_by_text("This run has logged no embeddings.").wait_for()


def test_a_report_holds_it_and_fetches_nothing(page: Any, boards: Path, tmp_path: Path) -> None:
    write_report(boards / "board", tmp_path / "report.html")
    page.context.set_offline(True)
    page.goto(f"{(tmp_path / 'report.html').as_uri()}#/projector?run=board&point=4&way=tsne")
    page.get_by_role("progressbar").wait_for()
    drawn(page, page.locator(".projector-canvas"), 3)
    expect(page.locator("ol.projector-list button")).to_have_count(12)
    assert page.get_by_role("alert").count() == 0
    page.get_by_role("link", name="Meshes").click()
    drawn(page, page.get_by_role("img", name="tube at step 5"))
    page.get_by_role("link", name="Model").click()
    page.get_by_role("heading", name="add_graph", level=1).wait_for()
