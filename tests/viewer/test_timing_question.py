"""Where the time went, as far as a log tells it; and nothing that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runlog.logs import rows, write
from tests.viewer.asking import ask, shelf_of
from torch_debugger.records import (
    CostFact,
    MemoryFact,
    ModuleTime,
    PassFact,
    Place,
    ProfileFact,
    Record,
    Scalars,
)
from torch_debugger.records.loop import PassCalls


def times(count: int, slow: int, wait_s: float | None = 0.01) -> list[Record]:
    waited = {} if wait_s is None else {"time/data_wait_s": wait_s}
    return [
        Scalars(step, 1_700_000_000.0 + step, {"time/step_s": 5.0 if step == slow else 0.1, **waited})
        for step in range(1, count + 1)
    ]


def test_steps_waits_and_the_slowest_are_told(tmp_path: Path) -> None:
    write(tmp_path / "run", [*times(1000, slow=777), rows(777), CostFact(1000, 0.5, 100.0, 0.02, 990, 10)])

    told = ask(shelf_of(tmp_path), "timing", run="run")

    steps = told["steps"]
    assert steps["count"] == 1000
    assert steps["median_s"] == pytest.approx(0.1)
    assert abs(steps["wait_s"] - 10.0) < 1e-6
    assert len(steps["stretches"]) == 300
    assert max(stretch["max_s"] for stretch in steps["stretches"]) == 5.0
    slowest = told["slowest"][0]
    assert (slowest["step"], slowest["seconds"], slowest["looked_at"]) == (777, 5.0, True)
    assert not told["slowest"][1]["looked_at"]
    assert [part["name"] for part in told["split"]] == ["waiting for data", "everything else"]
    assert told["cost"]["looks"] == 10


def test_an_evaluation_inside_of_a_slow_step_is_told(tmp_path: Path) -> None:
    def one_pass(step: int, updates: int) -> PassFact:
        calls = (PassCalls("model", 0, 0, 0, 5, 0, 0, True),)
        return PassFact(step, 1, Place(), 5, updates, updates, calls, False, 0, False)

    write(tmp_path / "run", [*times(9, slow=4), one_pass(4, updates=0), one_pass(6, updates=5)])
    slowest = ask(shelf_of(tmp_path), "timing", run="run")["slowest"]

    assert [row["step"] for row in slowest if row["evaluated"]] == [4]


def test_modules_are_a_tree_of_those_that_were_called(tmp_path: Path) -> None:
    def module(path: str, forward_s: float, backward_s: float) -> ModuleTime:
        return ModuleTime(path, "Linear", 4, forward_s, backward_s, 0.0, 0.0)

    modules = (
        module("net", 4.0, 8.0), module("net.blocks.0", 2.0, 4.0), module("net.blocks.0.fc", 1.0, 1.0),
        module("net.head", 0.4, 0.4), module("other", 0.2, 0.2),
    )  # fmt: skip
    fact = ProfileFact(9, 2, 20.0, False, 0.0, 0, 0.0, (), modules, (), (), (), 0.1, 9.0)
    write(tmp_path / "run", [*times(5, slow=1), fact])
    tree = ask(shelf_of(tmp_path), "timing", run="run")["modules"]

    net, other = tree["children"]
    assert (net["name"], net["seconds"], other["name"]) == ("net", 6.0, "other")
    assert [child["name"] for child in net["children"]] == ["net.blocks.0", "net.head"]
    assert net["children"][0]["children"][0] == {"name": "net.blocks.0.fc", "seconds": 1.0, "children": []}


def test_what_was_not_recorded_is_null_and_not_zero(tmp_path: Path) -> None:
    write(tmp_path / "run", times(5, slow=1, wait_s=None))

    told = ask(shelf_of(tmp_path), "timing", run="run")

    assert told["steps"]["wait_s"] is None
    assert (told["split"], told["modules"], told["memory"], told["cost"]) == (None, None, None, None)


def test_a_log_without_times_has_no_steps_to_tell_of(tmp_path: Path) -> None:
    write(tmp_path / "run", [Scalars(1, 1_700_000_000.0, {"loss": 1.0})])

    assert ask(shelf_of(tmp_path), "timing", run="run")["steps"] is None
    assert not ask(shelf_of(tmp_path), "about", run="run")["has"]["time"]


def test_memory_is_told_where_it_was_recorded(tmp_path: Path) -> None:
    facts = [MemoryFact(1000 + step, 5000, 10 * step, 900, step) for step in range(3)]
    write(tmp_path / "run", [*times(3, slow=1), *facts])

    memory = ask(shelf_of(tmp_path), "timing", run="run")["memory"]

    assert memory["categories"] == {"process": [1000, 1001, 1002], "accelerator": [0, 10, 20]}
    assert memory["peak"] == {"process": 5000, "accelerator": 900}
