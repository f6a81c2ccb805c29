"""Crashes that look like a shape or dtype error, or happen near one, and are neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, crash_of, judge

LOOKALIKES = {
    "the user's own ValueError": "raise ValueError('mat1 and mat2 shapes cannot be multiplied')\n",
    "the user's own RuntimeError": """
x = torch.randn(2, 3)
y = torch.randn(4, 5)
if x.shape != y.shape:
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied: {x.shape} @ {y.shape}")
""",
    "a RuntimeError inside forward": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        out = self.fc(x)
        raise RuntimeError("expected dtype Long")
Net()(torch.randn(3, 4))
""",
    "a key that is not there": "batch = {'x': torch.randn(2)}\nbatch['y'] @ batch['x']\n",
    "an attribute that is not there": "nn.Linear(4, 2).wieght @ torch.randn(3)\n",
    "an embedding index out of range": "emb = nn.Embedding(10, 4)\nemb(torch.tensor([3, 10]))\n",
    "a class number out of range": "F.cross_entropy(torch.randn(4, 3), torch.tensor([0, 1, 2, 3]))\n",
    "an index out of range": "x = torch.randn(3)\nx[5]\n",
    "tensors on two devices": "a = torch.randn(2, 3)\nb = torch.randn(2, 3, device='meta')\na + b\n",
    "a model on another device": "net = nn.Linear(4, 2, device='meta')\nnet(torch.randn(3, 4))\n",
    "backward twice": "x = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()\n",
    "no graph": "x = torch.ones(2)\nx.sum().backward()\n",
    "batch norm of one value": "nn.BatchNorm1d(4)(torch.randn(1, 4))\n",
    "a view that is not contiguous": "x = torch.randn(3, 4).t()\nx.view(12)\n",
    "a wrong number of arguments": "nn.Linear(4, 2)(torch.randn(3, 4), torch.randn(3, 4))\n",
    "an error in a hook": """
net = nn.Linear(4, 2)
def hook(module, given, made):
    raise RuntimeError("wrong type of scalar")
net.register_forward_hook(hook)
net(torch.randn(3, 4))
""",
    "an in-place write to a leaf": "w = torch.ones(3, requires_grad=True)\nw += 1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))
    assert judge(crash) == []


def test_a_shape_error_under_autocast_is_not_called_a_dtype_error(tmp_path: Path) -> None:
    source = """
model = nn.Sequential(
    nn.Linear(4, 8),
    nn.Linear(6, 2),
)
with torch.autocast("cpu", dtype=torch.bfloat16):
    model(torch.randn(3, 4))
"""
    findings = judge(crash_of(tmp_path / "net.py", HEAD + source))
    assert [finding.name for finding in findings] == ["shape-mismatch"]
