"""Crashes near a normalization layer with a single value, and none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, crash_of, judge
from torch_debugger.records.codec import from_plain, to_plain

NET = "net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))\n"

NEAR = {
    "the user's own words": 'raise ValueError("Expected more than 1 value per channel when training")\n',
    "no sample at all": NET + "net(torch.randn(0, 5))\n",
    "other features": NET + "net(torch.randn(1, 5))\n",
    "no batch dimension": NET + "net.eval()\nnet(torch.randn(4))\n",
    "a layer for images": "net = nn.BatchNorm2d(3)\nnet(torch.randn(1, 3))\n",
    "groups that do not fit": "net = nn.GroupNorm(3, 6)\nnet(torch.randn(1, 4))\n",
    "a loss after one sample": NET + "net.eval()\nF.mse_loss(net(torch.randn(1, 4)), torch.randn(3, 3))\n",
    "other channels in one sample": "net = nn.BatchNorm1d(8)\nnet(torch.randn(1, 5))\n",
    "a float64 sample": NET + "net(torch.randn(1, 4).double())\n",
    "a function of the user's with torch's name": (
        "def _verify_batch_size(size):\n    raise ValueError(f'Expected more than 1 value {size}')\n\n"
        "_verify_batch_size([1, 8])\n"
    ),
    "one sample, and backward without a graph": (
        NET + "net.eval()\nwith torch.no_grad():\n    loss = net(torch.randn(1, 4)).sum()\nloss.backward()\n"
    ),
}


@pytest.mark.parametrize("script", NEAR.values(), ids=NEAR)
def test_near_misses(script: str, tmp_path: Path) -> None:
    assert "batch-of-one" not in [finding.name for finding in judge(crash_of(tmp_path / "net.py", HEAD + script))]


LOADER = """
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
loader = DataLoader(TensorDataset(torch.randn(SAMPLES, 4)), batch_size=4)
for (x,) in loader:
    net(x[:1]).sum().backward()
"""


@pytest.mark.parametrize("samples", [12, 13])
def test_a_loader_is_left_in_peace_where_the_line_itself_takes_one_sample(samples: int, tmp_path: Path) -> None:
    script = HEAD + LOADER.replace("SAMPLES", str(samples))
    (finding,) = judge(crash_of(tmp_path / "net.py", script))
    assert finding.name == "batch-of-one"
    assert "drop_last" not in finding.fix
    assert finding.edit is None


def test_what_was_seen_survives_the_log(tmp_path: Path) -> None:
    script = HEAD + LOADER.replace("SAMPLES", "9").replace("x[:1]", "x")
    crash = crash_of(tmp_path / "net.py", script)
    assert judge(from_plain("CrashFact", to_plain(crash))) == judge(crash)
    assert crash.evidence.building is not None
    assert crash.evidence.building.single_value is not None
    assert crash.evidence.building.single_value.source is not None
