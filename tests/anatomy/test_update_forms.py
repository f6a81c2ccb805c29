from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from torch_debugger.probes.optimizers import update_form


class Own(torch.optim.Adam):
    pass


@pytest.mark.parametrize(
    ("kind", "settings", "form"),
    [
        (torch.optim.Adam, {}, "one by one"),
        (torch.optim.SGD, {"lr": 0.1}, "one by one"),
        (torch.optim.AdamW, {"fused": True}, "fused"),
        (torch.optim.AdamW, {"foreach": True}, "in lists"),
        (torch.optim.AdamW, {"foreach": False}, "one by one"),
        (torch.optim.Adam, {"differentiable": True}, ""),
        (torch.optim.RMSprop, {}, ""),
        (Own, {}, ""),
    ],
)
def test_how_an_optimizer_goes_through_its_parameters(kind: Any, settings: dict[str, Any], form: str) -> None:
    assert update_form(kind(nn.Linear(3, 2).parameters(), **settings)) == form


def test_groups_that_differ_have_no_form() -> None:
    net = nn.Linear(3, 2)
    groups: list[dict[str, Any]] = [{"params": [net.weight], "fused": True}, {"params": [net.bias]}]
    assert update_form(torch.optim.Adam(groups)) == ""


def test_sparse_gradients_fit_no_fused_kernel() -> None:
    table = nn.Embedding(5, 2, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1, momentum=0.9)
    table(torch.tensor([1, 2])).sum().backward()
    assert update_form(optimizer) == ""
