"""What a healthy run does not need is not even loaded: the hunt, gradient checks, breakpoints, inspections."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
rooms = ("trials.hunt", "trials.gradcheck", "breakpoints", "inspections")
print("probes" in str(sys.modules.keys()), [name for name in sys.modules if name.startswith(
    tuple(f"torch_debugger.{room}" for room in rooms))])
"""


def test_a_healthy_run_loads_nothing_of_the_hunt(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch_debugger", "run", "--no-log", "--quiet", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "True []\n"


def test_loading_a_name_of_ours_draws_no_random_number() -> None:
    program = """
import random, torch_debugger
random.seed(0)
torch_debugger.Debugger, torch_debugger.runs
print(random.random())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(random.Random(0).random())
