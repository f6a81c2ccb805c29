"""Traces of torch.profiler in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.recordings import serving_folders
from tests.profiling.nccl_traces import write_rank
from tests.profiling.test_traces import op, python, write
from torch_debugger.cli.traces import TraceRuns

WAIT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
LOADING = [
    *(op(f"ProfilerStep#{number}", 40_000 * number, 40_000, "user_annotation") for number in range(3)),
    *(op(WAIT, 40_000 * number, 30_000, "user_annotation") for number in range(3)),
    *(op("aten::<b>mm</b>", 40_000 * number + 31_000, 5000) for number in range(3)),
    python("train.py(3): main", 0, 120_000),
    python("train.py(9): step", 31_000, 8000),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("traces")
    files = [write_rank(folder / f"rank{rank}.pt.trace.json", rank, 200 + 50 * rank) for rank in (0, 1)]
    traces = TraceRuns([write(Path(folder / "cpu.pt.trace.json"), LOADING), *files])
    with serving_folders(traces.folders, traces=traces.book) as address:
        yield address
    traces.close()


def test_the_overview_says_what_would_make_it_faster(page: Any, shown: str) -> None:
    page.goto(f"{shown}#/profile?trace=cpu")
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()
    expect(page.get_by_text("data-loaded-in-the-training-process")).to_be_visible()
    expect(page.get_by_text("30 ms of the 40 ms of a step (75%)")).to_be_visible()
    expect(page.get_by_role("img", name="Time of a step: DataLoader 75 %")).to_be_visible()
    page.get_by_role("radio", name="Operators").check(force=True)
    expect(page.get_by_role("row").nth(1)).to_contain_text("aten::<b>mm</b>")
    page.get_by_role("radio", name="Python").check(force=True)
    expect(page.get_by_role("button", name="train.py(9): step")).to_be_visible()


def test_tables_sort_and_find(page: Any, shown: str) -> None:
    page.goto(f"{shown}#/profile?trace=rank0&part=kernels")
    table = page.get_by_role("region", name="Kernels").last
    expect(table.get_by_role("row").nth(1)).to_contain_text("cutlass")
    table.get_by_role("button", name="Operator").click()
    expect(table.get_by_role("columnheader", name="Operator")).to_have_attribute("aria-sort", "ascending")
    expect(table.get_by_role("row").nth(1)).to_contain_text("aten::_foreach_addcdiv_")


def test_the_timeline_zooms_and_finds(page: Any, shown: str) -> None:
    page.goto(f"{shown}#/profile?trace=rank0&part=timeline")
    canvas = page.get_by_role("img", name="Timeline of thread 100")
    expect(canvas).to_be_visible()
    expect(page.get_by_text("2 ms of 2 ms.")).to_be_visible()
    page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_text("1 ms of 2 ms.")).to_be_visible()
    page.get_by_role("region", name="Threads and streams").focus()
    page.keyboard.press("0")
    expect(page.get_by_text("2 ms of 2 ms.")).to_be_visible()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 50)  # the first row of the first lane: a step
    expect(page.locator(".profile-told")).to_contain_text("ProfilerStep#3: 1 ms")
    page.get_by_label("Find").fill("NCCLDEV")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("1 ms of 2 ms.")).to_be_visible()  # five times the bar of 200 us
    page.get_by_label("Find").fill("nothing like it")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("No bar has that name.")).to_be_visible()


def test_ranks_and_the_difference_of_two_traces(page: Any, shown: str) -> None:
    page.goto(f"{shown}#/profile?trace=rank0&part=ranks")
    expect(page.get_by_role("img", name="Rank 1: computing 300 µs")).to_be_visible()
    page.get_by_role("radio", name="Difference").check(force=True)
    page.get_by_label("Compared with").select_option("rank1")
    expect(page.get_by_text("A step takes 1 ms here and 1 ms there: as long.")).to_be_visible()
    row = page.get_by_role("region", name="Kernels that changed").get_by_role("row", name="ncclDevKernel")
    expect(row).to_contain_text("-50 µs")


@pytest.mark.parametrize("part", ["overview", "operators", "timeline", "memory", "ranks", "difference"])
def test_every_part_is_accessible_and_fits_any_width(page: Any, shown: str, part: str) -> None:
    page.goto(f"{shown}#/profile?trace=rank0&part={part}")
    page.locator(".panel").first.wait_for()
    assert_accessible(page)
    assert_fits(page)
