"""Reading from source how tensors get on devices."""

from __future__ import annotations

import ast

import pytest

from torch_debugger.source.device_placement import calls_a_mover, sets_default_device


@pytest.mark.parametrize(
    "text",
    [
        "torch.set_default_device(DEVICE)",
        "torch.set_default_tensor_type(kind)",
        "with torch.device('cpu'):\n    model = Net()",
        "with DEVICE:\n    model = Net()",
    ],
)
def test_a_default_device_is_seen(text: str) -> None:
    assert sets_default_device(ast.parse(text))


@pytest.mark.parametrize("text", ["with torch.no_grad():\n    f()", "with open(p) as f:\n    f.read()", "x = 1"])
def test_other_contexts_set_none(text: str) -> None:
    assert not sets_default_device(ast.parse(text))


SCRIPT = """
import torch, helpers
from torch import randn
from lib import place
def move(x): return x.cuda() if FLAG else x
def double(x): return 2 * x
"""


@pytest.mark.parametrize("call", ["move(x)", "self.move(x)", "place(x)", "helpers.put(x)", "unknown(x)"])
def test_functions_that_move_or_might_are_movers(call: str) -> None:
    assert calls_a_mover(ast.parse(f"y = {call}"), ast.parse(SCRIPT))


@pytest.mark.parametrize("call", ["double(x)", "randn(4)", "torch.ones(4).view(2, 2)", "self.embed(x)", "len(x)"])
def test_known_functions_are_not(call: str) -> None:
    assert not calls_a_mover(ast.parse(f"y = {call}"), ast.parse(SCRIPT))
