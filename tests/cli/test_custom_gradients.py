"""torch-debugger run --check-custom-gradients, through the whole command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Write, debugger, run_forked

pytestmark = pytest.mark.usefixtures("with_torch")

SCRIPT = """
import torch
from torch import nn

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0] ** 2

class Huge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    out = Cube.apply(model(torch.randn(8, 4)))
    loss = out.square().mean() + Huge.apply(model.weight.new_zeros(2**21 + 1) + model.bias[0]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print([parameter.sum().item().hex() for parameter in model.parameters()], torch.rand(2).tolist())
"""


def test_a_wrong_function_is_found_and_nothing_changes(write: Write, tmp_path: Path) -> None:
    write(SCRIPT)
    plain = run_forked([sys.executable, "train.py"])
    watched = debugger("run", "--check-custom-gradients", "--json", "out.json", "train.py")
    assert watched.returncode == plain.returncode == 0, watched.stderr
    assert watched.stdout == plain.stdout
    result = json.loads((tmp_path / "out.json").read_text())
    found = [finding for finding in result["findings"] if finding["name"] == "wrong-custom-gradient"]
    assert [finding["where"]["line"] for finding in found] == [11], watched.stderr
    assert "by 3" in found[0]["fix"]
    assert "The gradient of `Huge` was not checked: its inputs are too large" in " ".join(watched.stderr.split())


def test_nothing_is_checked_unasked(write: Write, tmp_path: Path) -> None:
    write(SCRIPT)
    debugger("run", "--json", "out.json", "train.py")
    result = json.loads((tmp_path / "out.json").read_text())
    assert "wrong-custom-gradient" not in {finding["name"] for finding in result["findings"]}
