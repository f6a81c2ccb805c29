"""Where tensors live on a machine with an accelerator, as far as the source proves."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

from torch_debugger.records import Place
from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials import unmoved_tensors as residence

SOURCE = """\
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
a.to(device)
b.to("cpu")
c.cuda()
d.to(torch.float64)
left = torch.zeros(3)
moved = torch.zeros(3).to(device)
for x, y in loader:
    y = y.to(device)
    if flag:
        x = x.to(device)
import torch
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.zeros(4, 2)), 2)
"""


def test_which_device_a_line_moves_to(script: str) -> None:
    devices = [residence.chosen_device(Place(script, line)) for line in (2, 3, 4, 5, 6)]
    assert devices == ["device", None, '"cuda"', None, None]


def test_a_variable_that_no_line_moves_is_on_the_cpu(script: str) -> None:
    left, moved = torch.zeros(3), torch.zeros(3)
    moment = VariablesAt(script, 8, "<module>", {"left": left, "moved": moved}, {})
    assert residence.tensors_on_the_cpu([moment]) == {id(left): (script, 6)}


def test_batches_are_on_the_cpu_unless_something_may_move_them(script: str) -> None:
    class Moving(TensorDataset):
        def __init__(self) -> None:
            super().__init__(torch.zeros(4, 2).to("cpu"))

    assert residence.gives_cpu_batches(DataLoader(TensorDataset(torch.zeros(4, 2))), script, 8)
    assert not residence.gives_cpu_batches(DataLoader(Moving()), script, 8)
    assert not residence.gives_cpu_batches(
        DataLoader(TensorDataset(torch.zeros(4)), collate_fn=lambda rows: rows[0][0].cuda()), script, 8
    )


def test_a_move_under_a_condition_may_happen_elsewhere(script: str) -> None:
    assert residence.may_be_moved(["x"], script, 8)
    assert not residence.may_be_moved(["y"], script, 8)
