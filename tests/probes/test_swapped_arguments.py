"""Two sizes in the wrong order: found by trying, and claimed only where one exchange stands out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.promises.running import DEBUGGER, run

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        {constructed}
        self.first = nn.Linear(features, hidden)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))

features, hidden = 12, 32
net = Net({given})
print(net(torch.randn(8, 12)).shape)
"""


@pytest.mark.parametrize(
    ("given", "constructed", "is_told"),
    [
        ("hidden, features, 3", "", True),
        ("hidden, features, 3", "if features == 12: raise SystemExit('made once more')", False),
        ("32, 32, 3", "", False),
    ],
    ids=["swapped", "cannot be made again", "of one size"],
)
def test_an_exchange_that_goes_through_is_told(given: str, constructed: str, is_told: bool, tmp_path: Path) -> None:
    text = NET.replace("{given}", given).replace("{constructed}", constructed)
    tmp_path.joinpath("train.py").write_text(text)
    ran = run([*DEBUGGER, "--no-log", "train.py"], tmp_path)
    assert ran.code == 1
    assert "RuntimeError: mat1 and mat2" in ran.stderr
    assert ("Net(features, hidden, 3)" in ran.stderr) == is_told, ran.stderr
    assert "made once more" not in ran.stderr.replace(constructed, "")
    assert "probe" not in ran.stderr


def test_a_trial_leaves_nothing_and_ends(tmp_path: Path) -> None:
    """Exchanging the first two makes as many layers as there are features."""
    text = NET.replace("{given}", "300_000, 8, 3").replace("features, hidden = 12, 32", "made = []")
    many = "made.append(features); self.more = nn.ModuleList(nn.Linear(2, 2) for _ in range(hidden))"
    text = text.replace("{constructed}", many).replace(
        "print(", "import atexit; atexit.register(lambda: print(made))\n"
    )
    tmp_path.joinpath("train.py").write_text(text.replace(".shape)", ""))
    ran = run([*DEBUGGER, "--no-log", "train.py"], tmp_path)
    assert (ran.code, ran.stdout.decode().strip()) == (1, "[300000]"), ran.stderr
