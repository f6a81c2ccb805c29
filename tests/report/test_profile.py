"""A profile in words: the dearest first, each with its share, its time a step and its place."""

from __future__ import annotations

import dataclasses

import pytest

from torch_debugger.records import CopyTime, LineTime, ModuleTime, OpTime, Place, ProfileFact, SyncTime
from torch_debugger.records.performance import SampledStacks, StackNode
from torch_debugger.report.profile import opening, profile_text, sampled_tables, time_text

FACT = ProfileFact(
    first_step=13,
    steps=5,
    wall_s=0.5,
    on_device=False,
    device_busy_s=0.0,
    kernels=0,
    gap_s=0.0,
    lines=(
        LineTime(Place("/home/me/train.py", 12, code="loss = f(net(x), y)"), 0.1, 0.0, 0.2, 5),
        LineTime(Place("/home/me/train.py", 14, code="optimizer.step()"), 0.15, 0.0, 0.0, 5),
        LineTime(Place("/home/me/train.py", 15, code="pass"), 0.001, 0.0, 0.0, 5),
    ),
    modules=(ModuleTime("net", "Net", 5, 0.1, 0.2, 0.0, 0.0),),
    ops=(OpTime("aten::mm", 50, 0.25, 0.0, "[[1]]"),),
    syncs=(),
    copies=(),
    cost_s=0.4,
    plain_s=0.09,
)


def test_the_dearest_line_comes_first_and_what_is_nothing_is_left_out() -> None:
    text = profile_text(FACT, "/home/me")
    assert opening(FACT) == (
        "Where the time went: 5 steps from step 13 on, 100 ms each (90 ms before). Reading it took 400 ms."
    )
    lines = [line.split() for line in text.splitlines() if "train.py" in line]
    assert [line[:3] + line[4:5] for line in lines] == [
        ["60", "ms", "60", "██████"],
        ["30", "ms", "30", "███"],
    ]
    assert "train.py:12" in text and "loss = f(net(x), y)" in text and "train.py:15" not in text
    assert "10 calls a step" in text


def test_on_a_device_its_own_time_is_told_and_where_the_host_waited() -> None:
    line = dataclasses.replace(FACT.lines[0], device_s=0.3)
    fact = dataclasses.replace(
        FACT,
        on_device=True,
        device_busy_s=0.4,
        kernels=1500,
        lines=(line,),
        syncs=(SyncTime(Place("/home/me/train.py", 20, code="print(loss.item())"), "aten::item", 5, 0.05),),
        copies=(CopyTime(Place("/home/me/train.py", 9), "host to device", False, 5, 5_000_000, 0.01),),
    )
    text = profile_text(fact, "/home/me")
    assert "The GPU was busy for 80 % of it, with 300 kernels a step." in opening(fact)
    assert "75 %" in next(row for row in text.splitlines() if "train.py:12" in row)
    assert "the host waited for the device" in text
    assert "aten::item, print(loss.item())" in text
    assert "host to device, pageable memory, 1 MB a step" in text


@pytest.mark.parametrize(("seconds", "text"), [(1.25, "1.25 s"), (0.1071, "107 ms"), (3.5e-5, "35 us"), (0.0, "0 us")])
def test_times_are_short(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def sampled(who: str, times: int = 1) -> SampledStacks:
    line = Place("/home/me/train.py", 12, code="loss.backward()")
    nodes = (
        StackNode(-1, "main", Place("/home/me/train.py", 3, code="main()"), True, 0, 30 * times),
        StackNode(0, "train", line, True, 4 * times, 29 * times),
        StackNode(1, "Tensor.backward", Place("/lib/torch/_tensor.py", 500), False, 25 * times, 25 * times),
        StackNode(0, "f", Place("/home/me/data.py", 7, code="x = read()"), True, 1 * times, 1 * times),
    )
    return SampledStacks(who, 30 * times, 0.02, 20, nodes)


def test_the_lines_at_which_python_was_come_with_what_libraries_did_below_them() -> None:
    [(title, rows), (_, of_workers)] = sampled_tables([sampled("training")], "/home/me")
    assert title == "where Python was, by line (30 samples)"
    assert [row[:2] + row[3:] for row in rows] == [
        ("train.py:12", "loss.backward()", "29"),
        ("data.py:7", "x = read()", "1"),
    ]
    assert rows[0][2] == pytest.approx(29 / 30) and of_workers == []


def test_workers_are_told_together() -> None:
    both = [sampled("worker 0", 2), sampled("worker 1")]
    [(_, of_training), (title, rows)] = sampled_tables(both, "/home/me")
    assert of_training == []
    assert title == "where Python was in 2 workers of loaders (90 samples)" and rows[0][3] == "87"


def test_a_handful_of_samples_tells_nothing() -> None:
    few = dataclasses.replace(sampled("training"), samples=19)
    assert [rows for _, rows in sampled_tables([few], None)] == [[], []]
