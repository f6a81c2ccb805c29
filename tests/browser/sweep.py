"""One small script with several learning rates and seeds, and once with a fault: runs to set side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.recordings import made_once, record, serving

SCRIPT = """
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
torch.manual_seed(args.seed)
x = torch.randn(256, 20)
y = (x[:, :10].sum(dim=1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
for epoch in range(8):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
FAULTY = SCRIPT.replace("        optimizer.zero_grad()\n", "")
# A name that breaks whatever does not escape: a comma parts names, the rest parts addresses and HTML.
HOSTILE = "a,b&c=d#<img src=x onerror=alert(1)>"
RUNS = {
    "slow": (SCRIPT, ["--lr", "0.01"]),
    "seed0": (SCRIPT, ["--lr", "0.2", "--seed", "0"]),
    HOSTILE: (SCRIPT, ["--lr", "0.2", "--seed", "1"]),
    "forgot": (FAULTY, ["--lr", "0.2"]),
}


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run each, by the names in RUNS."""
    return made_once(tmp_path_factory, "sweep", _make) / "runs"


def _make(folder: Path) -> None:
    for name, (script, arguments) in RUNS.items():
        record(folder, name, script, *arguments, file="train.py")


@pytest.fixture(scope="session")
def swept(sweep: Path) -> Iterator[str]:
    """The address of a page that shows them."""
    with serving(sweep) as address:
        yield address
