"""Where the time went, as far as a log tells it; and nothing that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runlog.logs import rows, write
from tests.viewer.asking import ask, shown_runs_of
from torch_debugger.records import (
    CostFact,
    MemoryFact,
    ModuleTime,
    PassFact,
    Place,
    ProfileFact,
    Record,
    SampledStacks,
    Scalars,
    StackNode,
)
from torch_debugger.records.training import PassCalls


def times(count: int, slow: int, wait_s: float | None = 0.01) -> list[Record]:
    waited = {} if wait_s is None else {"time/data_wait_s": wait_s}
    return [
        Scalars(step, 1_700_000_000.0 + step, {"time/step_s": 5.0 if step == slow else 0.1, **waited})
        for step in range(1, count + 1)
    ]


def test_steps_waits_and_the_slowest_are_told(tmp_path: Path) -> None:
    write(tmp_path / "run", [*times(1000, slow=777), rows(777), CostFact(1000, 0.5, 100.0, 0.02, 990, 10)])

    told = ask(shown_runs_of(tmp_path), "timing", run="run")

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
    slowest = ask(shown_runs_of(tmp_path), "timing", run="run")["slowest"]

    assert [row["step"] for row in slowest if row["evaluated"]] == [4]


def test_the_parts_of_steps_are_told_with_the_weight_of_the_steps_they_stand_for(tmp_path: Path) -> None:
    def split(step: int, forward_s: float, evaluation_s: float | None = None) -> Record:
        values = {"split/forward_s": forward_s, "split/other_s": 0.01}
        values |= {} if evaluation_s is None else {"split/evaluation_s": evaluation_s}
        return Scalars(step, 1_700_000_000.0 + step, values)

    write(tmp_path / "run", [*times(30, slow=1), split(10, 0.1), split(30, 0.2, evaluation_s=1.0)])
    told = ask(shown_runs_of(tmp_path), "timing", run="run")["split"]

    seconds = {part["name"]: part["seconds"] for part in told}
    assert seconds["forward"] == pytest.approx(1 * 0.1 + 20 * 0.2)
    assert seconds["without gradients (evaluation)"] == pytest.approx(20.0)
    assert [part["name"] for part in told if part["rest"]] == ["other"]


def test_modules_are_a_tree_of_those_that_were_called(tmp_path: Path) -> None:
    def module(path: str, forward_s: float, backward_s: float) -> ModuleTime:
        return ModuleTime(path, "Linear", 4, forward_s, backward_s, 0.0, 0.0)

    modules = (
        module("net", 4.0, 8.0), module("net.blocks.0", 2.0, 4.0), module("net.blocks.0.fc", 1.0, 1.0),
        module("net.head", 0.4, 0.4), module("other", 0.2, 0.2),
    )  # fmt: skip
    fact = ProfileFact(9, 2, 20.0, False, 0.0, 0, 0.0, (), modules, (), (), (), 0.1, 9.0)
    write(tmp_path / "run", [*times(5, slow=1), fact])
    tree = ask(shown_runs_of(tmp_path), "timing", run="run")["modules"]

    net, other = tree["children"]
    assert (net["name"], net["seconds"], other["name"]) == ("net", 6.0, "other")
    assert [child["name"] for child in net["children"]] == ["net.blocks.0", "net.head"]
    assert net["children"][0]["children"][0] == {"name": "net.blocks.0.fc", "seconds": 1.0, "children": []}


def test_sampled_lines_stand_below_each_other_with_libraries_folded_under_them(tmp_path: Path) -> None:
    def node(parent: int, function: str, line: int, samples: int, file: str = "/home/me/train.py") -> StackNode:
        users = file.endswith("train.py")
        return StackNode(parent, function, Place(file, line, code="run()" if users else None), users, samples, 0)

    torch = "/v/site-packages/torch/optim/adam.py"
    nodes = (
        node(-1, "<module>", 9, 0), node(0, "main", 5, 1), node(1, "Optimizer.step", 1, 0, torch),
        node(2, "_use_grad", 2, 0, torch), node(3, "adam", 3, 6, torch), node(4, "closure", 7, 3),
        node(1, "Optimizer.step", 1, 2, torch),
    )  # fmt: skip
    worker = (node(-1, "waiting", 0, 4, ""), node(-1, "fetch", 1, 0, "/v/fetch.py"), node(1, "load", 30, 8))
    told = [
        SampledStacks("worker 10", 12, 0.02, 9, worker),
        SampledStacks("worker 9", 12, 0.02, 9, worker),
        SampledStacks("training", 3, 0.02, 9, nodes[:2]),
        SampledStacks("training", 12, 0.02, 9, nodes),
    ]
    write(tmp_path / "run", [*times(5, slow=1), *told])
    training, *workers = ask(shown_runs_of(tmp_path), "timing", run="run")["sampled"]

    assert [each["name"] for each in (training, *workers)] == ["training thread", "worker 9", "worker 10"]
    assert outline(training["root"]) == [
        "training thread 12", " train.py:9 run() 12", "  train.py:5 run() 12", "   Optimizer.step 8",
        "    adam 6", "   train.py:7 run() 3",
    ]  # fmt: skip
    assert outline(workers[0]["root"]) == ["worker 9 12", " train.py:30 run() 8", " waiting 4"]
    step = training["root"]["children"][0]["children"][0]["children"][0]
    assert step["quiet"] and step["about"] == "a function of torch/optim/adam.py"


def outline(part: dict[str, Any], depth: int = 0) -> list[str]:
    below = [line for child in part["children"] for line in outline(child, depth + 1)]
    return [f"{' ' * depth}{part['name']} {part['samples']}", *below]


def test_what_was_not_recorded_is_null_and_not_zero(tmp_path: Path) -> None:
    write(tmp_path / "run", times(5, slow=1, wait_s=None))

    told = ask(shown_runs_of(tmp_path), "timing", run="run")

    assert told["steps"]["wait_s"] is None
    assert (told["split"], told["modules"], told["memory"], told["cost"]) == (None, None, None, None)
    assert told["sampled"] == []


def test_a_log_without_times_has_no_steps_to_tell_of(tmp_path: Path) -> None:
    write(tmp_path / "run", [Scalars(1, 1_700_000_000.0, {"loss": 1.0})])

    assert ask(shown_runs_of(tmp_path), "timing", run="run")["steps"] is None
    assert not ask(shown_runs_of(tmp_path), "about", run="run")["has"]["time"]


def test_memory_is_told_where_it_was_recorded(tmp_path: Path) -> None:
    facts = [MemoryFact(1000 + step, 5000, 10 * step, 900, step) for step in range(3)]
    write(tmp_path / "run", [*times(3, slow=1), *facts])

    memory = ask(shown_runs_of(tmp_path), "timing", run="run")["memory"]

    assert memory["categories"] == {"process": [1000, 1001, 1002], "accelerator": [0, 10, 20]}
    assert memory["peak"] == {"process": 5000, "accelerator": 900}
