"""--on-nan: what is done about a NaN besides telling it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Write, debugger

pytestmark = pytest.mark.usefixtures("with_torch")

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(1, 9):
    x = torch.rand(4, 3)
    output = net(x).square().sum()
    loss = torch.sqrt(output * (step != 4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, bool(net.weight.isfinite().all()), net.weight.grad is not None)
"""


def run(write: Write, policy: str, *words: str) -> tuple[Any, list[str], dict[str, Any]]:
    write(SCRIPT)
    done = debugger("run", "--on-nan", policy, "--json", "result.json", *words, "train.py")
    return done, done.stdout.splitlines(), json.loads(Path("result.json").read_text())


def verdict(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result["findings"][result["verdict"]]
    return found


def test_report_lets_the_script_go_on(write: Write) -> None:
    done, lines, result = run(write, "report")
    assert done.returncode == 0
    assert lines == [f"{step} {step < 4} True" for step in range(1, 9)]
    assert (verdict(result)["name"], verdict(result)["first_step"]) == ("loss-not-finite", 4)
    assert verdict(result)["evidence"]["op"] == "sqrt"


@pytest.mark.parametrize("words", [(), ("--in-process",)], ids=["apart", "in process"])
def test_stop_ends_it_before_the_update(write: Write, words: tuple[str, ...]) -> None:
    done, lines, result = run(write, "stop", *words)
    assert done.returncode == 1
    assert lines == ["1 True True", "2 True True", "3 True True"]
    assert (result["outcome"], verdict(result)["name"]) == ("stopped", "loss-not-finite")
    assert "the run was stopped there" in verdict(result)["message"]
    assert "Traceback" not in done.stderr


def test_skip_step_keeps_the_weights_and_the_gradients(write: Write) -> None:
    done, lines, result = run(write, "skip-step")
    assert done.returncode == 0
    assert lines == [f"{step} True True" for step in range(1, 9)]
    assert "the update of that step was skipped" in verdict(result)["message"]
    assert "--on-nan skip-step" in done.stderr


def test_break_without_a_terminal_says_where_and_goes_on(write: Write) -> None:
    done, lines, _ = run(write, "break")
    assert len(lines) == 8
    assert "the gradient became nan at step 4 (train.py:14)" in done.stderr
    assert "Not stopped: stdin is not a terminal." in done.stderr


def test_a_policy_that_does_not_exist(write: Write) -> None:
    write(SCRIPT)
    done = debugger("run", "--on-nan", "ignore", "train.py")
    assert done.returncode == 2
    assert "invalid choice: 'ignore'" in done.stderr
