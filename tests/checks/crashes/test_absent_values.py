"""None in arithmetic with a tensor: whose argument it was, and silence where no tensor is concerned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, crash_of, judge

OPTIONAL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x, mask=None):
        return self.fc(x) * mask
Net()(torch.randn(2, 4))
"""
OWN_BACKWARD = """
class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, shift):
        return rows * 2 + shift
    @staticmethod
    def backward(ctx, grad):
        return grad * 2, grad.sum(0)
Affine.apply(torch.randn(2, 4, requires_grad=True), None)
"""
NO_TENSOR = """
def scaled(size, by=None):
    return size * by
scaled(3)
"""


@pytest.mark.parametrize(
    ("script", "name", "advice"),
    [
        (OPTIONAL, "mask", "`self.fc(x) * mask if mask is not None else self.fc(x)`"),
        (OWN_BACKWARD, "shift", "ctx.needs_input_grad"),
    ],
)
def test_an_argument_that_was_not_passed(tmp_path: Path, script: str, name: str, advice: str) -> None:
    (finding,) = judge(crash_of(tmp_path / "train.py", HEAD + script))
    assert finding.name == "none-for-tensor"
    assert finding.evidence["is None"] == name
    assert advice in finding.fix


def test_numbers_are_no_tensors(tmp_path: Path) -> None:
    assert [finding.name for finding in judge(crash_of(tmp_path / "train.py", HEAD + NO_TENSOR))] == [
        "unexplained-crash"
    ]


TRAINED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.spare = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.used(x)
net = Net()
net(torch.randn(2, 4)).sum().backward()
"""
ALL_OF = "assert all(p.grad is not None for p in net.parameters())"
NAMED = "assert all([p.grad is not None for name, p in net.named_parameters()]), 'no gradient'"


@pytest.mark.parametrize("line", [ALL_OF, NAMED])
def test_the_first_parameter_that_an_assert_of_all_found(tmp_path: Path, line: str) -> None:
    (finding,) = judge(crash_of(tmp_path / "train.py", HEAD + TRAINED + line + "\n"))
    assert finding.name == "none-for-tensor"
    assert finding.evidence["parameter"] == "net.spare.weight"
    assert "`forward` never uses `spare`" in finding.message


def test_an_assert_of_some_parameters_is_left_alone(tmp_path: Path) -> None:
    line = "assert all(p.grad is not None for p in net.parameters() if p is not net.used.bias)\n"
    findings = judge(crash_of(tmp_path / "train.py", HEAD + TRAINED + line))
    assert [finding.name for finding in findings] == ["unexplained-crash"]
