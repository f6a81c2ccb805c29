"""The graph of torch's `add_graph` in the view of models."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits


def open_graph(page: Any, address: str, more: str = "") -> None:
    page.goto(f"{address}#/model?run=board{more}")
    page.get_by_role("heading", name="add_graph", level=1).wait_for()


def test_modules_are_nested_and_open(page: Any, boards_served: str) -> None:
    open_graph(page, boards_served)
    expect(page.get_by_text("as add_graph has logged it")).to_be_visible()
    page.get_by_role("button", name="Close all").click()
    closed = page.get_by_role("button", name="add_graph.1, Sequential")
    closed.click()
    page.get_by_role("button", name="add_graph.1.0, Block", exact=False).first.click()
    expect(page.locator(".model-operation").filter(has_text="relu")).to_have_count(1)
    expect(page.locator(".model-operation").filter(has_text="add")).to_contain_text("[2, 4, 8, 8]")
    side = page.get_by_role("complementary", name="Chosen module")
    expect(side).to_contain_text("add_graph.1.0")
    expect(side).to_contain_text("relu, add")
    assert_accessible(page)


def test_a_parameter_is_said_to_have_no_shape(page: Any, boards_served: str) -> None:
    open_graph(page, boards_served, "&module=add_graph.3")
    side = page.get_by_role("complementary", name="Chosen module")
    expect(side).to_contain_text("weight")
    expect(side).to_contain_text("The graph does not tell their shapes.")
    assert side.get_by_text("FLOPs").count() == 0


def test_as_a_table_and_narrow(page: Any, boards_served: str) -> None:
    open_graph(page, boards_served, "&look=table")
    table = page.get_by_role("treegrid")
    expect(table).to_contain_text("Conv2d")
    assert table.get_by_role("columnheader").all_inner_texts() == ["Module", "Class", "Made"]
    assert_accessible(page)
    assert_fits(page)
