"""Crashes that look like a shape or dtype error, or happen near one, and are neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge

WRONG = {"shape-mismatch", "dtype-mismatch"}
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
    "a wrong number of arguments": "nn.Linear(4, 2)(torch.randn(3, 4), torch.randn(3, 4))\n",
    "an error in a hook": """
net = nn.Linear(4, 2)
def hook(module, given, made):
    raise RuntimeError("wrong type of scalar")
net.register_forward_hook(hook)
net(torch.randn(3, 4))
""",
    "an in-place write to a leaf": "w = torch.ones(3, requires_grad=True)\nw += 1\n",
    "a model given to an optimizer": "torch.optim.Adam(nn.Linear(3, 2), lr=1e-3)\n",
    "a loss called as its constructor": "nn.CrossEntropyLoss(torch.randn(8, 4), torch.zeros(8))\n",
    "a probability out of range": "nn.BCELoss()(torch.full((8, 1), 9.0), torch.ones(8, 1))\n",
    "the user's own assertion about a shape": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        assert x.shape[1] == 4, f"expected 4 features, got {x.shape[1]}"
        return self.fc(x)
Net()(torch.randn(3, 5))
""",
    "backward of many numbers": "nn.Linear(3, 2)(torch.randn(4, 3)).backward()\n",
    "a tuple into a layer": "lstm, fc = nn.LSTM(4, 8), nn.Linear(6, 2)\nfc(lstm(torch.randn(2, 5, 4)))\n",
    "a truth value of many numbers": "x, y = torch.ones(4), torch.ones(3)\nif x > 0:\n    x + y\n",
    "a dimension of numpy's": "import numpy\nx = torch.ones(3, 4)\nnumpy.ones((3, 4)).sum(axis=5)\n",
    "a list taken apart": "x = torch.ones(3, 4)\na, b, c = [x, x]\n",
    "a user's own error about dimensions": """
x = torch.ones(3, 4)
if x.dim() != 3:
    raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got 2)")
""",
    "numpy's own shape error": """
import numpy
a, b = numpy.zeros((3, 4)), numpy.zeros((5, 6))
x, y = torch.zeros(3, 4), torch.zeros(5, 6)
c = a @ b
""",
    "the user's own error in a dataset": """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        a, b = torch.zeros(3), torch.zeros(4)
        message = "stack expects each tensor to be equal size, but got [3] at entry 0 and [4] at entry 1"
        raise RuntimeError(message)
for batch in torch.utils.data.DataLoader(Data(), batch_size=2):
    pass
""",
    "a broadcasting loss on two devices": "F.mse_loss(torch.randn(8, 1), torch.randn(8, device='meta'))\n",
    "a gradient of the wrong shape": "x = torch.ones(3, requires_grad=True)\n(x * 2).backward(torch.ones(4))\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert not WRONG & set(claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))))


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said_where_python_does_not_tell_the_expression(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch_debugger.crashes.frames.failing_expression", lambda *_: "")
    assert not WRONG & set(claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))))


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
