"""Tensors that objects keep since they were made, and the name that a line has for the device."""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials.cpu_tensors import kept_on_the_cpu
from torch_debugger.trials.device_mismatch import attribute_at, device_at

SOURCE = """\
class Scaled:
    def __init__(self, size, place):
        self.place = place
        self.scale = torch.ones(size)
        self.moved = torch.ones(size)
        self.later = torch.ones(size)

    def __call__(self, out):
        self.moved = self.moved.to(out.device)
        mask = torch.ones(3)
        return self.scale * out

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def main(device):
    scaled = Scaled(3, device)
    scaled.later = scaled.later.cuda()
"""


def test_what_an_object_keeps_and_no_line_moves(script: str) -> None:
    namespace: dict[str, Any] = {"torch": torch, "__name__": "train"}
    exec(compile(SOURCE, script, "exec"), namespace)
    scaled = namespace["Scaled"](3, "cpu")
    moment = VariablesAt(script, 17, "main", {"held": {"loss": scaled}}, {})
    assert kept_on_the_cpu([moment]) == {id(scaled.scale): (script, 4)}


def test_the_device_is_named_as_the_line_knows_it(script: str) -> None:
    assert device_at((script, 4), "DEVICE") == "DEVICE"
    assert device_at((script, 4), "place") == "place"
    assert device_at((script, 4), "self.place") == "self.place"
    assert device_at((script, 10), "where", ["mask", "out"]) == "out.device"
    assert device_at((script, 16), "where") == "device"
    assert device_at((script, 4), "where") == ""
    assert (attribute_at(script, 4), attribute_at(script, 10)) == ("self.scale", "")
