"""Names without a value, None for a tensor, asserts: what the frames tell of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge

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
    "a gradient before any backward": (
        "net = nn.Linear(2, 2)\nnet.weight.grad.norm()\n",
        "no backward has run yet",
    ),
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
    [found] = judge(crash_of(tmp_path / "script.py", HEAD + source))
    assert words in found.message


@pytest.mark.parametrize("case", SILENT)
def test_what_is_not_claimed(case: str, tmp_path: Path) -> None:
    assert not claims(crash_of(tmp_path / "script.py", HEAD + SILENT[case]))
