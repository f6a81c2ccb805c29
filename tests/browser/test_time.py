"""Where the time of a recorded run went, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.recordings import serving
from tests.profiling.test_traces import STEP, memory
from tests.profiling.test_traces import write as write_trace
from tests.runlog.logs import write
from torch_debugger.api import write_report
from torch_debugger.cli.traces import TraceRuns
from torch_debugger.records import Place, Record, SampledStacks, Scalars, StackNode


def test_the_steps_the_wait_for_data_and_what_was_not_recorded_are_told(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/time?run=slow")
    expect(page.locator(".time-summary")).to_contain_text("Half of the steps take")
    expect(page.locator(".time-summary")).to_contain_text("64 steps took")
    expect(page.get_by_role("img", name="Time of all steps: waiting for data")).to_be_visible()
    chart = page.get_by_role("img", name="Seconds a step takes")
    assert "waiting for data: First" in chart.get_attribute("aria-label")
    expect(page.get_by_role("table", name="Slowest steps")).to_contain_text("the first step")
    expect(page.get_by_text("Not recorded in this run:")).to_have_count(1)
    expect(page.get_by_role("heading", name="Time by module")).to_have_count(0)


def test_a_log_without_times_does_not_offer_the_view_and_says_why_it_is_empty(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "run", [Scalars(1, 1_700_000_000.0, {"loss": 1.0})])
    with serving(tmp_path) as address:
        page.goto(f"{address}#/verdict?run=run")
        page.get_by_role("navigation", name="Views").get_by_role("link", name="Runs").wait_for()
        expect(page.get_by_role("navigation", name="Views").get_by_text("Time and memory")).to_have_count(0)
        page.goto(f"{address}#/time?run=run")
        expect(page.get_by_text("No times were recorded in this run.")).to_be_visible()
        page.goto("about:blank")  # it would miss the server


def sampled(who: str, code: str) -> SampledStacks:
    def node(parent: int, function: str, line: int, samples: int, code: str | None) -> StackNode:
        return StackNode(parent, function, Place("/home/me/train.py", line, code=code), bool(code), samples, samples)

    nodes = (node(-1, "<module>", 30, 10, "main()"), node(0, "main", 12, 60, code))
    library = StackNode(1, "Tensor.backward", Place("/v/site-packages/torch/_tensor.py", 5), False, 130, 130)
    return SampledStacks(who, 200, 0.02, 9, (*nodes, library))


def with_samples(folder: Path, *more: Record) -> Path:
    steps = [Scalars(step, 1_700_000_000.0 + step, {"time/step_s": 0.1}) for step in range(1, 9)]
    write(folder, [*steps, sampled("training", "loss.backward()"), *more])
    return folder


def test_where_python_was_is_an_icicle_of_the_users_lines(page: Any, tmp_path: Path) -> None:
    with_samples(tmp_path / "run", sampled("worker 0", "return decode(path)"))
    with serving(tmp_path) as address:
        page.goto(f"{address}#/time?run=run")
        icicle = page.get_by_role("group", name="Where Python was: training thread")
        line = icicle.get_by_role("button", name="train.py:12 loss.backward(): 190 samples, 95 % of training thread")
        line.hover()
        expect(page.locator(".icicle-told")).to_contain_text("in main, /home/me/train.py:12")
        line.click()
        expect(icicle.get_by_role("button", name="train.py:30 main()")).to_have_count(0)
        expect(icicle.get_by_role("button", name="Tensor.backward: 130 samples")).to_be_visible()
        page.get_by_role("button", name="Back to train.py:30 main()").click()
        page.locator(".field select").select_option("worker 0")
        of_worker = page.get_by_role("group", name="Where Python was: worker 0")
        expect(of_worker.get_by_role("button", name="return decode(path)")).to_be_visible()
        assert_accessible(page)
        page.goto("about:blank")


def test_the_report_has_it_too(page: Any, tmp_path: Path) -> None:
    with_samples(tmp_path / "run")
    write_report(tmp_path / "run", tmp_path / "report.html")
    page.goto(f"{(tmp_path / 'report.html').as_uri()}#/time?run=run")
    icicle = page.get_by_role("group", name="Where Python was: training thread")
    expect(icicle.get_by_role("button", name="train.py:12 loss.backward()")).to_be_visible()


def test_a_trace_of_torchs_profiler_is_told(page: Any, tmp_path: Path) -> None:
    file = write_trace(tmp_path / "host.pt.trace.json", [*STEP, memory(5, 2000), memory(500, 3000)])
    traces = TraceRuns([file])
    with serving(Path(traces.folders["traces"])) as address:
        page.goto(f"{address}#/time?run=host")
        lines = page.get_by_role("table", name="Time by line").get_by_role("row")
        expect(lines.nth(1)).to_contain_text("models/net.py:20")
        expect(page.get_by_role("table", name="Time by op").get_by_text("aten::addmm")).to_be_visible()
        expect(page.get_by_role("group", name="Time by module")).to_contain_text("Net_0")
        expect(page.get_by_role("heading", name="Memory over time")).to_be_visible()
        expect(page.get_by_role("img", name="given out on cpu at most 3 kB")).to_be_visible()
        assert_accessible(page)
        assert_fits(page)
        page.goto("about:blank")  # it would miss the server
    traces.close()


def test_it_is_accessible_in_light_and_dark_and_fits_any_width(page: Any, swept: str) -> None:
    page.goto(f"{swept}#/time?run=slow")
    page.locator(".time-summary").wait_for()
    assert_accessible(page)
    assert_fits(page)
