"""Lines that write through .data, and lines that put another parameter in the place of one."""

from __future__ import annotations

from pathlib import Path

from torch_debugger.anatomy.data_writes import data_writes, write_before
from torch_debugger.anatomy.parameter_lines import parameter_line
from torch_debugger.anatomy.sources import place_at

SOURCE = """
import torch
from torch import nn

def clip(model):
    for p in model.parameters():
        p.data.clamp_(-1, 1)

def train(model, x):
    hidden = model(x)
    hidden.data[0] = 1
    nn.init.normal_(model.fc.weight.data)
    loss = hidden.data.sum() + model.fc.weight.data.norm()
    model.fc.bias.data -= 0.1
    model.fc.weight.requires_grad_(False)
    loss.backward()
    model.fc.weight = nn.Parameter(torch.zeros(3))
    model.head = nn.Linear(3, 3)
"""


def test_only_writes_are_found_with_what_they_write(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    writes = data_writes((str(file),))
    assert {(write.place.line, write.target) for write in writes} == {
        (7, "p"),
        (11, "hidden"),
        (12, "model.fc.weight"),
        (14, "model.fc.bias"),
    }
    last = write_before(place_at(str(file), 16), writes)
    assert last is not None
    assert last.place.line == 14
    assert write_before(place_at(str(file), 3), writes) is None  # of several elsewhere, none is sure


def test_the_line_that_replaces(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    assert parameter_line("net.fc.weight", (str(file),)).line == 17
    assert parameter_line("net.head.bias", (str(file),)).line == 18
    assert not parameter_line("net.body.weight", (str(file),))
