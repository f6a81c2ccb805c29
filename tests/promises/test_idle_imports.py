"""What a healthy run does not need is not even loaded: the hunt, gradient checks, breakpoints, inspections."""

from __future__ import annotations

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
