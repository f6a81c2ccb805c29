"""What a healthy run does not need is not even loaded: the hunt, gradient checks, breakpoints, inspections."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from tests.promises.running import LIMIT_S

SCRIPT = """
import sys, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
rooms = ("trials.nan_", "trials.anomaly_", "trials.operation_", "trials.gradcheck", "probes.breakpoint", "pictures")
print("probes" in str(sys.modules.keys()), sys.gettrace(), [name for name in sys.modules if name.startswith(
    tuple(f"torch_debugger.{room}" for room in rooms))])
"""


def test_a_healthy_run_loads_nothing_of_the_hunt_and_of_breakpoints_and_traces_no_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch_debugger", "run", "--no-log", "--quiet", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert done.stdout == "True None []\n"


def test_a_debugger_is_loaded_without_a_random_number_and_without_ipython() -> None:
    program = """
import random, sys, torch_debugger
random.seed(0)
torch_debugger.Debugger, torch_debugger.runs
print(random.random())
torch_debugger.Debugger().close()
print("IPython" in sys.modules)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert done.stdout.split() == [str(random.Random(0).random()), "False"]
