"""The timeline of a trace: any stretch in a size that can be drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.profiling.nccl_traces import GEMM, write_rank
from tests.profiling.test_traces import STEP, op, python, write
from torch_debugger.profiling.trace_lanes import Lanes
from torch_debugger.profiling.traces import read_trace


def lanes(tmp_path: Path, events: list[Any]) -> Lanes:
    return read_trace(write(tmp_path / "x.json", events)).lanes


def test_threads_and_streams_with_what_lies_inside_of_what(tmp_path: Path) -> None:
    found = read_trace(write_rank(tmp_path / "x.json")).lanes.window(0, 1, 1000)
    names = [lane["name"] for lane in found["lanes"]]
    assert names == ["thread 100, the training's", "thread 101", "GPU 0, stream 7", "GPU 0, stream 20"]
    bars = {found["texts"][bar[3]]: bar for bar in found["lanes"][0]["bars"] if bar[0] < 1e-3}
    assert [bars[name][2] for name in ("ProfilerStep#3", "aten::linear", "aten::addmm")] == [0, 1, 2]
    assert bars["aten::addmm"][0] == pytest.approx(160e-6) and bars["aten::addmm"][1] == pytest.approx(80e-6)
    (product, *_) = [bar for bar in found["lanes"][2]["bars"] if found["texts"][bar[3]] == GEMM]
    assert found["kinds"][product[4]] == "kernel" and found["texts"][product[5]] == "started by aten::addmm"


def test_python_functions_are_shown_where_they_are_asked_for(tmp_path: Path) -> None:
    found = lanes(tmp_path, STEP)
    plain, full = (found.window(0, 1, 1000, python=python)["lanes"][0] for python in (False, True))
    assert full["rows"] > plain["rows"] and len(full["bars"]) > len(plain["bars"])
    assert [bar[2] for bar in plain["bars"] if bar[0] == pytest.approx(130e-6)] == [1], "below the step alone"


def test_a_stretch_holds_what_is_in_it_or_reaches_into_it(tmp_path: Path) -> None:
    found = lanes(tmp_path, [op(f"aten::op{place}", 100 * place, 90) for place in range(10)])
    shown = found.window(250e-6, 350e-6, 1000)
    assert sorted(shown["texts"]) == ["aten::op2", "aten::op3"]


@pytest.mark.parametrize("pixels", [1000, 10**9])
def test_what_is_sent_is_bounded_and_loses_no_call(tmp_path: Path, pixels: int) -> None:
    many = 20_000
    found = lanes(tmp_path, [op(f"aten::op{place % 50}", 2 * place, 1) for place in range(many)])
    (lane,) = found.window(0, 1, pixels)["lanes"]
    assert sum(bar[6] for bar in lane["bars"]) == many
    assert len(json.dumps(lane)) < 2_000_000
    assert all(bar[3] == -1 for bar in lane["bars"] if bar[6] > 1), "many bars in one have no name"


def test_a_name_is_found_behind_a_moment_and_around_the_end(tmp_path: Path) -> None:
    found = lanes(tmp_path, [op("aten::mm", 0, 5), op("aten::add", 10, 5), op("aten::mm", 20, 5)])
    starts = [(found.find("MM", after) or {})["start_s"] for after in (0.0, 10e-6, 30e-6)]
    assert starts == [pytest.approx(20e-6), pytest.approx(20e-6), 0.0]
    assert found.find("conv", 0.0) is None


def test_a_step_that_begins_in_a_function_and_outlives_it_has_a_row_of_its_own(tmp_path: Path) -> None:
    events = [
        python("train.py(1): <module>", 0, 100),
        python("profiler.py(9): step", 10, 10),
        op("ProfilerStep#1", 15, 60, "user_annotation"),
        op("aten::mm", 30, 10),
    ]
    found = lanes(tmp_path, events).window(0, 1, 1000, python=True)
    rows = {found["texts"][bar[3]]: bar[2] for bar in found["lanes"][0]["bars"]}
    assert rows == {"ProfilerStep#1": 0, "train.py(1): <module>": 1, "profiler.py(9): step": 2, "aten::mm": 2}
