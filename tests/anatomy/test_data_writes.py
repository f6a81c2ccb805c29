"""Lines that write through .data, and lines that put another parameter in the place of one."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from torch_debugger.source.detached_results import data_writes, touched_between, write_before
from torch_debugger.source.files import place_at
from torch_debugger.source.parameters import parameter_line

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


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head, self.body = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)


def line_of(name: str, source: str, file: Path) -> int | None:
    file.write_text(source)
    return parameter_line(name, Net(), (str(file),), None).line


def test_the_line_that_replaces(tmp_path: Path) -> None:
    assert line_of("fc.weight", SOURCE, tmp_path / "train.py") == 17
    assert line_of("head.bias", SOURCE, tmp_path / "train.py") == 18
    assert line_of("body.weight", SOURCE, tmp_path / "train.py") is None


def test_a_line_that_runs_once_replaces_nothing_again(tmp_path: Path) -> None:
    once = "model.head = nn.Linear(3, 3)\n"
    assert line_of("head.bias", once, tmp_path / "once.py") is None
    assert line_of("head.bias", f"for step in range(9):\n    {once}", tmp_path / "loop.py") == 2


def test_another_class_replaces_its_own(tmp_path: Path) -> None:
    method = "    def refresh(self):\n        self.head = nn.Linear(3, 3)\n"
    assert line_of("head.bias", f"class Other(nn.Module):\n{method}", tmp_path / "other.py") is None
    assert line_of("head.bias", f"class Net(nn.Module):\n{method}", tmp_path / "own.py") == 3


def test_what_is_bound_or_written_in_place_on_the_way_to_backward(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("code.data = code.sign()\nx.mul_(2)\nout = head(code)\nloss += 1\nloss.backward()\n")
    touched = touched_between(place_at(str(file), 1), place_at(str(file), 5))
    assert touched == {"x", "out", "loss"}
