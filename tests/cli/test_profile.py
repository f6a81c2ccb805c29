"""torch-debugger profile: the command, its report, its trace, and where the script ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Write, debugger

pytestmark = pytest.mark.usefixtures("with_torch")

SCRIPT = """
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(200):
        x = torch.randn(32, 64)
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step + 1)
"""


def test_some_steps_are_profiled_and_then_the_script_ends(write: Write, tmp_path: Path) -> None:
    done = debugger("profile", "--profile-steps", "3", "--log-dir", "log", str(write(SCRIPT)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "step 14"  # the 15th ends in its optimizer's step
    assert "Where the time went: 3 steps from step 13 on" in done.stderr
    assert "train.py:9" in done.stderr
    assert "net.0" in done.stderr and "aten::" in done.stderr
    assert (tmp_path / "log" / "trace.json.gz").stat().st_size > 1000


def test_a_run_goes_on_after_its_profile(write: Write) -> None:
    done = debugger("run", "--profile", "--no-log", str(write(SCRIPT)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "step 200"
    assert "Where the time went: 5 steps from step 13 on" in done.stderr


WORKERS = """
    import time

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Slow(Dataset):
        def __len__(self):
            return 200

        def __getitem__(self, index):
            time.sleep(0.02)
            return torch.randn(8)

    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x in DataLoader(Slow(), batch_size=4, num_workers=1, multiprocessing_context="fork"):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_the_lines_at_which_python_was_are_told_of_workers_too(write: Write) -> None:
    done = debugger("run", "--profile", "--log-dir", "log", str(write(WORKERS)))
    assert done.returncode == 0, done.stderr
    _, training, workers = done.stderr.split("where Python was")
    assert training.startswith(", by line (") and "train.py:18  for x in DataLoader(" in training
    assert workers.startswith(" in 1 worker of loaders (") and "time.sleep(0.02)" in workers
