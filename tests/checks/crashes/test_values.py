"""Names without a value, None for a tensor, asserts: what the frames tell of them, and silence elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from tests.fakes import only

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


TOLD = {
    "a counter by another name": (
        "for number, batch in enumerate([torch.ones(2)]):\n    print(i)\n",
        "the loop around it calls it `number`",
    ),
    "a sum that nobody began": (
        "def train():\n    for x in (1.0, 2.0):\n        total += x\ntrain()\n",
        "nothing has given it a value to begin with",
    ),
    "a loop over nothing": (
        "def last(batches):\n    for x in batches:\n        out = x\n    return out\nlast([])\n",
        "the loop made no pass",
    ),
    "a module of Python's": ("time.time()\n", "it was never imported"),
    "a gradient before any backward": ("net = nn.Linear(2, 2)\nnet.weight.grad.norm()\n", "no backward has run yet"),
    "a gradient that was cleared": (
        "net = nn.Linear(2, 2)\nnet(torch.ones(1, 2)).sum().backward()\nnet.zero_grad()\nnet.weight.grad.norm()\n",
        "the gradients were cleared",
    ),
    "a gradient of a result": (
        "y = nn.Linear(2, 2)(torch.ones(1, 2))\ny.sum().backward()\ny.grad.norm()\n",
        "the result of an op",
    ),
    "what backward gives": (
        "x = torch.ones(2, requires_grad=True)\nl = x.sum().backward()\nl.item()\n",
        "returns nothing",
    ),
    "an assert on a shape": (
        "x = torch.ones(4, 8, 8, 3)\nassert x.shape[1:] == (3, 8, 8)\n",
        "dimension 1 is 8 and not 3, dimension 3 is 3 and not 8",
    ),
    "an assert on dimensions": (
        "x = torch.ones(3, 8, 8)\nassert x.dim() == 4\n",
        "`x.dim()` is 3, and 4 was asked for",
    ),
}
SILENT = {
    "an assert with a call of the script's own": "def fine():\n    return False\nassert fine()\n",
    "the script's own word of None": "raise TypeError(\"'NoneType' object is not iterable\")\n",
    "an assert inside of a library": "import json, ast\nast.literal_eval('f(')\n",
}


@pytest.mark.parametrize("case", TOLD)
def test_what_is_told(case: str, tmp_path: Path) -> None:
    source, words = TOLD[case]
    assert words in only(judge(crash_of(tmp_path / "script.py", HEAD + source))).message


@pytest.mark.parametrize("case", SILENT)
def test_what_is_not_claimed(case: str, tmp_path: Path) -> None:
    assert not claims(crash_of(tmp_path / "script.py", HEAD + SILENT[case]))
