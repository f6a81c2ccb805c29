"""A convolution of a size too small is told by trying, and only where one setting stands out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.promises.running import DEBUGGER, run

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = {first}
        self.last = {last}

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))

net = Net()
x = torch.randn(2, 3, 16)
print(nn.functional.l1_loss(net(x), x).item())
"""
SAME = "nn.Conv1d(3, 3, 3, padding=1)"
SHORT = "nn.Conv1d(3, 3, 3)"


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (SAME, SHORT, "self.last = nn.Conv1d(3, 3, 3, padding=1)"),
        ("nn.Conv1d(3, 3, 3, padding=2)", SAME, "self.first = nn.Conv1d(3, 3, 3, padding=1)"),
        (SHORT, "nn.ConvTranspose1d(3, 3, 4)", ""),  # either of the two, by one
        (SAME, "nn.Conv1d(3, 3, 3,\n            )", "`net.last` with `padding=1`"),
    ],
    ids=["without", "written", "several ways", "on several lines"],
)
def test_the_setting_that_fits(first: str, last: str, told: str, tmp_path: Path) -> None:
    text = NET.replace("{first}", first).replace("{last}", last)
    tmp_path.joinpath("train.py").write_text(text)
    ran = run([*DEBUGGER, "--no-log", "train.py"], tmp_path)
    assert ran.code == 1
    assert ("padding=1" in ran.stderr.replace(first, "").replace(last, "")) == bool(told)
    assert told in " ".join(ran.stderr.split())
    assert "probe" not in ran.stderr
